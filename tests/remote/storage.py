"""Content-addressable storage of a remote-execution service, as a client sees it."""

import hashlib
import os
import shutil
import uuid

from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as remote
from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2_grpc as remote_grpc
from buildgrid._protos.google.bytestream import bytestream_pb2, bytestream_pb2_grpc

SMALL = 2 << 20  # bytes that fit into one message
CHUNK = 1 << 20


def digest_of(data):
    return remote.Digest(hash=hashlib.sha256(data).hexdigest(), size_bytes=len(data))


class Storage:
    """Keeps in `folder` what was fetched once, as workers do: most actions share their inputs."""

    def __init__(self, channel, instance, folder):
        self.instance, self.folder = instance, folder
        self.blobs = remote_grpc.ContentAddressableStorageStub(channel)
        self.streams = bytestream_pb2_grpc.ByteStreamStub(channel)
        folder.mkdir(parents=True, exist_ok=True)

    def file(self, digest):
        """A file that has these bytes; not to be written to."""
        path = self.folder / digest.hash
        if not path.exists():
            part, sha = path.with_suffix(".part"), hashlib.sha256()
            with open(part, "wb") as out:
                if digest.size_bytes:
                    name = f"{self.instance}/blobs/{digest.hash}/{digest.size_bytes}"
                    for answer in self.streams.Read(bytestream_pb2.ReadRequest(resource_name=name)):
                        sha.update(answer.data)
                        out.write(answer.data)
            if sha.hexdigest() != digest.hash:
                raise OSError(f"what the service has for {digest.hash} are other bytes")
            part.rename(path)
        return path

    def message(self, digest, kind):
        return kind.FromString(self.file(digest).read_bytes())

    def fetch_tree(self, digest, folder):
        """Writes a directory, with all that is in it, as files of their own: a command may change them."""
        folder.mkdir(parents=True)
        directory = self.message(digest, remote.Directory)
        for file in directory.files:
            shutil.copyfile(self.file(file.digest), folder / file.name)
            (folder / file.name).chmod(0o555 if file.is_executable else 0o444)
        for link in directory.symlinks:
            (folder / link.name).symlink_to(link.target)
        for inner in directory.directories:
            self.fetch_tree(inner.digest, folder / inner.name)

    def put(self, data):
        digest = digest_of(data)
        request = remote.BatchUpdateBlobsRequest(instance_name=self.instance)
        request.requests.add(digest=digest, data=data)
        for answer in self.blobs.BatchUpdateBlobs(request).responses:
            if answer.status.code:
                raise OSError(answer.status.message)
        return digest

    def put_file(self, path):
        size = path.stat().st_size
        if size <= SMALL:
            return self.put(path.read_bytes())
        with open(path, "rb") as file:
            digest = remote.Digest(hash=hashlib.file_digest(file, "sha256").hexdigest(), size_bytes=size)
        asked = remote.FindMissingBlobsRequest(instance_name=self.instance, blob_digests=[digest])
        if self.blobs.FindMissingBlobs(asked).missing_blob_digests:
            written = self.streams.Write(self._parts(path, digest)).committed_size
            if written != size:
                raise OSError(f"{path}: the service took {written} of {size} bytes")
        return digest

    def _parts(self, path, digest):
        name, at = f"{self.instance}/uploads/{uuid.uuid4()}/blobs/{digest.hash}/{digest.size_bytes}", 0
        with open(path, "rb") as file:
            while at < digest.size_bytes:
                data = file.read(CHUNK)
                end = at + len(data)
                yield bytestream_pb2.WriteRequest(resource_name=name, write_offset=at, data=data, finish_write=end == digest.size_bytes)
                at = end

    def put_tree(self, folder):
        tree = remote.Tree()
        tree.root.CopyFrom(self._directory(folder, tree))
        return self.put(tree.SerializeToString())

    def _directory(self, folder, tree):
        directory = remote.Directory()
        for path in sorted(folder.iterdir()):
            if path.is_symlink():
                directory.symlinks.add(name=path.name, target=os.readlink(path))
            elif path.is_dir():
                inner = self._directory(path, tree)
                tree.children.append(inner)
                directory.directories.add(name=path.name, digest=digest_of(inner.SerializeToString()))
            else:
                directory.files.add(name=path.name, digest=self.put_file(path), is_executable=os.access(path, os.X_OK))
        return directory
