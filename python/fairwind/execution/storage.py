"""Storage that workers leave results in: a shared folder, or a bucket (fsspec)."""

from __future__ import annotations

import uuid

from fairwind.errors import FairwindError

SUFFIX = ".arrows"
UNFINISHED = ".unfinished-"


class Storage:
    """A folder of results, one object for each simulation, named by all that decides it.

    Parameters
    ----------
    url : str
        As fsspec has it, such as ``s3://bucket/runs`` or ``/shared/runs``.

    Raises
    ------
    FairwindError
        If no installed package knows such a URL, or the folder cannot be used.
    """

    def __init__(self, url: str) -> None:
        import fsspec

        self._url = url
        try:
            self._files, self._folder = fsspec.core.url_to_fs(url)
            self._files.makedirs(self._folder, exist_ok=True)
        except (ImportError, ValueError) as error:
            raise FairwindError(
                f"cannot use the storage {url}: {error}",
                "install the package of fsspec that knows it, here and on all workers",
            ) from error
        except OSError as error:
            raise self._refusal(error) from error

    def names(self) -> set[str]:
        """Give the names of all results that are there."""
        try:
            self._files.invalidate_cache()
            files = self._files.ls(self._folder, detail=False)
        except OSError as error:
            raise self._refusal(error) from error
        names = (file.rstrip("/").rpartition("/")[2] for file in files)
        return {name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)}

    def put(self, name: str, content: bytes) -> None:
        """Store a result; it is there whole or not at all.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        unfinished = f"{self._folder}/{UNFINISHED}{uuid.uuid4().hex}"
        try:
            self._files.pipe_file(unfinished, content)
            self._files.mv(unfinished, self._path(name))
        except BaseException:
            if self._files.exists(unfinished):
                self._files.rm_file(unfinished)
            raise

    def get(self, name: str) -> bytes:
        """Read a result.

        Raises
        ------
        FileNotFoundError
            If it is not there.
        FairwindError
            If the storage does not answer.
        """
        try:
            content: bytes = self._files.cat_file(self._path(name))
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._refusal(error) from error
        return content

    def remove(self, name: str) -> None:
        """Remove a result, which may be gone already.

        Raises
        ------
        FairwindError
            If the storage does not answer.
        """
        try:
            self._files.rm_file(self._path(name))
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._refusal(error) from error

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}{SUFFIX}"

    def _refusal(self, error: OSError) -> FairwindError:
        return FairwindError(
            f"cannot use the storage {self._url}: {error.strerror or error}",
            "name another one with storage=URL, which this machine and all workers can use",
        )
