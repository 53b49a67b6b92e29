from .agent.agent import (
    Agent as Agent,
    AgentError as AgentError,
    AgentResult as AgentResult,
)
from .conversations.conversation import (
    Conversation as Conversation,
    Turn as Turn,
    TurnMessage as TurnMessage,
)
from .conversations.saved import (
    conversation_from_json as conversation_from_json,
    conversation_to_json as conversation_to_json,
)
from .heap.player import (
    Player as Player,
    player as player,
)
from .messages.chains import Chains as Chains
from .messages.content import (
    GeneratedReasoning as GeneratedReasoning,
    GeneratedText as GeneratedText,
    ToolCall as ToolCall,
    ToolError as ToolError,
    ToolResult as ToolResult,
)
from .errors import (
    AgentCoreError as AgentCoreError,
    AnswersError as AnswersError,
    ImmutableWriteError as ImmutableWriteError,
    InvalidConversationError as InvalidConversationError,
    InvalidJsonError as InvalidJsonError,
    InvalidMessageError as InvalidMessageError,
    RefusedPromptError as RefusedPromptError,
    SavedRunError as SavedRunError,
    WireError as WireError,
)
from .machine.hooks import (
    StepOverride as StepOverride,
    StepRecord as StepRecord,
)
from .messages.interrupts import Interrupt as Interrupt
from .machine.pending import pending_of as pending_of
from .machine.processors import MessageList as MessageList
from .machine.state import Run as Run
from .messages.message_repair import (
    Repair as Repair,
    RepairChange as RepairChange,
    repair as repair,
)
from .messages.message_trim import trim as trim
from .messages.messages import (
    AssistantMessage as AssistantMessage,
    ContentOutput as ContentOutput,
    ErrorJsonOutput as ErrorJsonOutput,
    ErrorTextOutput as ErrorTextOutput,
    ExecutionDeniedOutput as ExecutionDeniedOutput,
    FilePart as FilePart,
    ImagePart as ImagePart,
    JsonOutput as JsonOutput,
    Message as Message,
    ReasoningPart as ReasoningPart,
    SystemMessage as SystemMessage,
    TextOutput as TextOutput,
    TextPart as TextPart,
    ToolApprovalRequestPart as ToolApprovalRequestPart,
    ToolApprovalResponsePart as ToolApprovalResponsePart,
    ToolCallPart as ToolCallPart,
    ToolMessage as ToolMessage,
    ToolOutput as ToolOutput,
    ToolResultPart as ToolResultPart,
    UserMessage as UserMessage,
)
from .agent.middleware import (
    AgentStreamContext as AgentStreamContext,
    AgentStreamStage as AgentStreamStage,
    ExecuteToolContext as ExecuteToolContext,
    ExecuteToolStage as ExecuteToolStage,
    InvokeModelContext as InvokeModelContext,
    InvokeModelStage as InvokeModelStage,
    Middleware as Middleware,
)
from .agent.call.config import UsageLimits as UsageLimits
from .agent.models.base import FallbackModel as FallbackModel
from .agent.models.scripted import ScriptedModel as ScriptedModel
from .agent.output import Output as Output
from .machine.pending import Pending as Pending
from .machine.processors import (
    InputArguments as InputArguments,
    Processor as Processor,
    StepArguments as StepArguments,
    Tripwire as Tripwire,
)
from .records.saved import (
    RunLog as RunLog,
    load as load,
    save as save,
)
from .conversations.stores import (
    ConversationStore as ConversationStore,
    HeadConflictError as HeadConflictError,
    MemoryStore as MemoryStore,
    StoreError as StoreError,
    StoreUnavailableError as StoreUnavailableError,
)
from .machine.step import (
    StepResults as StepResults,
    prompt_of as prompt_of,
    step as step,
)
from .messages.message_trim import (
    TokenCounter as TokenCounter,
    estimate_tokens as estimate_tokens,
)
from .agent.tools import (
    Tool as Tool,
    ToolContext as ToolContext,
    tool as tool,
)
from .messages.values import (
    FrozenDict as FrozenDict,
    FrozenList as FrozenList,
    JsonObject as JsonObject,
    JsonValue as JsonValue,
    Vector as Vector,
    extend_vector as extend_vector,
    freeze as freeze,
    remove_item as remove_item,
    replace_item as replace_item,
    thaw as thaw,
    vector as vector,
)
from .messages.wire import (
    message_from_wire as message_from_wire,
    message_to_wire as message_to_wire,
    messages_from_wire as messages_from_wire,
    messages_to_json as messages_to_json,
)
