// The rule language of ampc, version 1.
//
// Statements need no terminator and a newline is a space like any other, so every statement begins with a word that no
// statement ends with. Words are keywords only where they can be: `name` below lists where a keyword is a plain name.
// Values of settings (`keep`, `clamp`, `any`) are names here and checked later, which gives them better messages.
// One token of lookahead decides everywhere; parsing is linear.
grammar Amp;

file : statement* EOF ;

statement
    : version
    | importFile
    | setting
    | io
    | level
    | levelPart
    | list
    | fact
    | optimizer
    | backward
    | overriding
    | role
    | alias
    | externOperator
    | tensorRule
    | nodeRule
    | guardRule
    | weightRule
    | graphPattern
    | scope
    | block
    ;

version : AMP NUMBER ;

// With `for`, only where the rules or the model name one of these domains.
importFile : IMPORT STRING (FOR domain (COMMA domain)*)? ;
domain : ID | nameWord ;

// `dtype fp16`, `on conflict store`. `follow any` parses as a list.
setting
    : (DTYPE | GRAY | OVERFLOWING | UNDERFLOWING | SHARED | FUNCTIONS | MASTER) word
    | PROMOTE toggle
    | REWRITE word toggle
    | ON CONFLICT choice
    ;
toggle : ON | OFF | ID ;
choice : NODE | STORE | ID ;

// `io keep` is the setting, `io low "logits", "probs*"` a rule.
io : IO word (pattern (COMMA pattern)*)? ;

// `level O1` chooses a level, `level O1 { … }` says what it is.
level : LEVEL word body? ;
// What stands in such a body alone.
levelPart : DEFAULT word | WEIGHTS word | OFF ;

// `deny O1, OD fp16: Exp, Log where …`: before the colon stand levels and data types, after it operators.
list : verdict listItem (COMMA listItem)* (COLON operators)? (WHERE predicate)? ;
verdict : ALLOW | DENY | FOLLOW | UNSUPPORTED | LEAVE ;
listItem : op lowType? | lowType ;
lowType : FP16 | BF16 ;

operators : op (COMMA op)* ;
op : ID | QNAME | opWord ;

// Facts of operators.
fact : (BOUNDED | COMMUTES | COLLECTIVE | MOVES) operators ;

// Training graphs. `optimizer ai.onnx.preview.training::Adam(inputs: parameter gradient state state)`: of a variadic
// operand, as many equal stretches as there are words.
optimizer : OPTIMIZER op LPAREN optimizerOperand (COMMA optimizerOperand)* RPAREN ;
optimizerOperand : operand COLON ID+ ;
// `backward /(.+)_Grad\/.+/ doc "Backward pass"`: what the group matches is the forward node's name.
backward : BACKWARD REGEX (DOC STRING)? ;

// `override deny Softmax` replaces what imported files say, `sealed deny Log` forbids that to those that import this one.
overriding : (OVERRIDE SEALED? | SEALED) (list | role | externOperator | graphPattern) ;

// `layer_norm arg 3,4 keep fp32`, `Sin, Cos bf16: arg * exact from integers`
role : roleOperators qualifiers? (ARG | RESULT) operands action ;
roleOperators : (ID | QNAME) (COMMA op)* ;
qualifiers : qualifier (COMMA qualifier)* COLON ;
qualifier : (ID | opWord) lowType? | lowType ;
operands : operand (COMMA operand)* | STAR (EXCEPT operand (COMMA operand)*)? ;
operand : NUMBER | operandName ;
action : KEEP word | STORE word | EXACT (FROM word)? | SATURATE | FACTOR ;

// `alias layer_norm(input, shape, weight, bias) = LayerNormalization(X: input, Scale: weight, B: bias)`
alias : ALIAS aliasName (LPAREN parameters? RPAREN)? ASSIGN aliasTarget (COMMA aliasTarget)* ;
aliasName : ID | opWord | WHERE ;
parameters : name (COMMA name)* ;
aliasTarget : op (LPAREN (binding (COMMA binding)*)? RPAREN)? ;
binding : name COLON name ;

// `extern com.acme::FusedMoe since 2 <k: int = 2>(x: T, w?: T, more...: T) -> (y: T) where T in fp32, fp16`
externOperator
    : EXTERN op (SINCE NUMBER)? attributes? formals ARROW formals (WHERE typeVariable (AND typeVariable)*)?
    ;
attributes : LT attribute (COMMA attribute)* GT ;
attribute : name QUESTION? COLON typeName (ASSIGN (NUMBER | STRING))? ;
formals : LPAREN (formal (COMMA formal)*)? RPAREN ;
formal : name QUESTION? COLON typeName | VARIADIC COLON EACH? typeName ;
typeVariable : ID IN typeName (COMMA typeName)* ;
typeName : ID | FP16 | BF16 ;

tensorRule : TENSOR pattern (COMMA pattern)* ((KEEP | STORE) word | ID) ;
nodeRule : NODE pattern (COMMA pattern)* (KEEP word | ID) ;
guardRule : GUARD pattern (COMMA pattern)* ;
weightRule : WEIGHT (WHERE predicate | pattern (COMMA pattern)*) KEEP word ;
pattern : STRING | REGEX ;

// `pattern O1, OD: rms_norm(x, eps) { s = Pow(x, 2) | Mul(x, x) … y = Div(x, r) } keep fp32`. Before the colon stand
// levels and data types. `override pattern rms_norm off` takes an imported one away.
graphPattern
    : PATTERN patternItem (COMMA patternItem)* (COLON patternName)?
      (LPAREN (termName (COMMA termName)*)? RPAREN LBRACE step* RBRACE patternAction | OFF)
    ;
patternItem : patternName lowType? | lowType ;
patternName : QNAME | termName ;
patternAction : KEEP word | FOLLOW | ID ;
// A call with `?` behind it may be missing; its first operand then stands in its place.
step : termName (COMMA termName)* ASSIGN alternative (BAR alternative)* ;
alternative : op arguments QUESTION? (WHERE predicate)? ;
arguments : LPAREN (argument (COMMA argument)*)? RPAREN ;
// `*` stands for whatever operands follow, `_` for one that may be anything.
argument : NUMBER | STAR | (QNAME | termName) (arguments QUESTION?)? ;

scope : SCOPE pattern (COMMA pattern)* body ;
// Nodes are counted from 0, the last one is not in the range: `nodes [1,3)`.
block : BLOCK STRING (NODES LBRACKET NUMBER COMMA NUMBER RPAREN)? body ;
body : LBRACE statement* RBRACE ;

predicate : conjunction (OR conjunction)* ;
conjunction : negation (AND negation)* ;
negation : NOT* condition ;
condition
    : LPAREN predicate RPAREN
    | term (comparator term | IS NOT? property)
    ;
property : WEIGHT | ID ;
comparator : EQ | NE | LT | LE | GT | GE ;
term
    : NUMBER
    | PERCENT
    | STRING
    | lowType
    | termName (LPAREN operand (COMMA NUMBER)? RPAREN)?
    ;

// Words by place. A statement's own verbs are never names, so that a list with a comma too many does not eat the next one.
word : ID | FP16 | BF16 | KEEP ;
name : ID | nameWord | KEEP | STORE | EXACT | SATURATE | FACTOR | WHERE ;
operandName : ID | nameWord | WHERE ;
termName : ID | nameWord | EXACT | SATURATE | FACTOR ;
nameWord
    : AMP | DTYPE | LEVEL | PROMOTE | GRAY | REWRITE | IO | OVERFLOWING | UNDERFLOWING | SHARED | FUNCTIONS | ON | CONFLICT
    | TENSOR | NODE | NODES | GUARD | SCOPE | BLOCK | WEIGHT | WEIGHTS | DEFAULT | OFF | ARG | RESULT | EXCEPT | FROM
    | EXTERN | SINCE | IN | EACH | FOR | MASTER | OPTIMIZER | COLLECTIVE | BACKWARD | DOC | PATTERN
    ;
// Frontends have operators of these names (torch.where is written `Where`).
opWord : EXACT | SATURATE | FACTOR | CONFLICT | FROM | NODES ;

AMP : 'amp' ;
IMPORT : 'import' ;
FOR : 'for' ;
DTYPE : 'dtype' ;
LEVEL : 'level' ;
PROMOTE : 'promote' ;
FOLLOW : 'follow' ;
GRAY : 'gray' ;
REWRITE : 'rewrite' ;
IO : 'io' ;
OVERFLOWING : 'overflow' ;
UNDERFLOWING : 'underflow' ;
SHARED : 'shared' ;
FUNCTIONS : 'functions' ;
MASTER : 'master' ;
ON : 'on' ;
CONFLICT : 'conflict' ;
ALLOW : 'allow' ;
DENY : 'deny' ;
UNSUPPORTED : 'unsupported' ;
LEAVE : 'leave' ;
BOUNDED : 'bounded' ;
COLLECTIVE : 'collective' ;
OPTIMIZER : 'optimizer' ;
BACKWARD : 'backward' ;
DOC : 'doc' ;
COMMUTES : 'commutes' ;
MOVES : 'moves' ;
OVERRIDE : 'override' ;
SEALED : 'sealed' ;
ALIAS : 'alias' ;
EXTERN : 'extern' ;
SINCE : 'since' ;
IN : 'in' ;
EACH : 'each' ;
TENSOR : 'tensor' ;
NODE : 'node' ;
NODES : 'nodes' ;
GUARD : 'guard' ;
PATTERN : 'pattern' ;
SCOPE : 'scope' ;
BLOCK : 'block' ;
WEIGHT : 'weight' ;
WEIGHTS : 'weights' ;
DEFAULT : 'default' ;
OFF : 'off' ;
WHERE : 'where' ;
ARG : 'arg' ;
RESULT : 'result' ;
EXCEPT : 'except' ;
KEEP : 'keep' ;
STORE : 'store' ;
EXACT : 'exact' ;
FROM : 'from' ;
SATURATE : 'saturate' ;
FACTOR : 'factor' ;
IS : 'is' ;
AND : 'and' ;
OR : 'or' ;
NOT : 'not' ;
FP16 : 'fp16' ;
BF16 : 'bf16' ;

EQ : '==' ;
NE : '!=' ;
LE : '<=' ;
GE : '>=' ;
LT : '<' ;
GT : '>' ;
ASSIGN : '=' ;
ARROW : '->' ;
QUESTION : '?' ;
COMMA : ',' ;
COLON : ':' ;
STAR : '*' ;
BAR : '|' ;
LPAREN : '(' ;
RPAREN : ')' ;
LBRACKET : '[' ;
LBRACE : '{' ;
RBRACE : '}' ;

PERCENT : NUMBER '%' ;
NUMBER : '-'? [0-9]+ ('.' [0-9]+)? ([eE] [+-]? [0-9]+)? ;
QNAME : ID '::' ID ;
// Before ID, which takes the points as well.
VARIADIC : [A-Za-z_] [A-Za-z0-9_.]* '...' ;
ID : [A-Za-z_] [A-Za-z0-9_.]* ;
STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '"' ;
REGEX : '/' (~[/\\\r\n*] | '\\' ~[\r\n]) (~[/\\\r\n] | '\\' ~[\r\n])* '/' ;

COMMENT : '#' ~[\r\n]* -> skip ;
// What is said of the statement below.
DOC_COMMENT : '///' (~[/\r\n] ~[\r\n]*)? -> skip ;
SPACE : [ \t\r\n]+ -> skip ;

// What is wrong already in the letters: reported by name before parsing, so that one slip costs one message.
OPEN_STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '\\'? ;
OPEN_REGEX : '/' (~[/\\\r\n*] | '\\' ~[\r\n]) (~[/\\\r\n] | '\\' ~[\r\n])* '\\'? ;
SLASH_COMMENT : '//' ~[\r\n]* | '/*' .*? '*/' | '/*' ~[\r\n]* ;
STRAY : . ;
