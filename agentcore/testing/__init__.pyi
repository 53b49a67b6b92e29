from .prompts import (
    HookFault as HookFault,
    HookFaultError as HookFaultError,
    NothingPollutedError as NothingPollutedError,
)
from .hooks import check_hook as check_hook
