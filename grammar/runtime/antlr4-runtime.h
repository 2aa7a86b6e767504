// What the generated lexer and parser need of ANTLR's runtime.
//
// The runtime's own header of this name also pulls in its interpreter's reader, which clang refuses (it needs a default
// constructor that is deleted). This one stands before it on the include path.
#pragma once

#include <antlr4-common.h>

#include <ANTLRInputStream.h>
#include <BailErrorStrategy.h>
#include <BaseErrorListener.h>
#include <CommonToken.h>
#include <CommonTokenStream.h>
#include <DefaultErrorStrategy.h>
#include <Exceptions.h>
#include <FailedPredicateException.h>
#include <InputMismatchException.h>
#include <Lexer.h>
#include <NoViableAltException.h>
#include <Parser.h>
#include <ParserRuleContext.h>
#include <RecognitionException.h>
#include <Vocabulary.h>
#include <atn/ATN.h>
#include <atn/ATNDeserializer.h>
#include <atn/LexerATNSimulator.h>
#include <atn/ParserATNSimulator.h>
#include <atn/PredictionMode.h>
#include <dfa/DFA.h>
#include <misc/IntervalSet.h>
#include <misc/Predicate.h>
#include <support/CPPUtils.h>
#include <tree/ParseTreeListener.h>
#include <tree/TerminalNode.h>
