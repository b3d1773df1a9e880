"""The client of the GenRM service, for reward functions and everything else that asks a judge over HTTP.

``relax.utils.genrm_client`` users change the import only: ``from assay.client import get_genrm_client``.
"""

from .blocking import SyncGenRMClient
from .client import GenRMClient
from .default import get_genrm_client
from .errors import GenRMError

__all__ = ["GenRMClient", "GenRMError", "SyncGenRMClient", "get_genrm_client"]
