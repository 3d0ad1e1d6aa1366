import * as z from 'zod'
import type { HookVendor } from '../../../src/domain/hooks.ts'

const text = z.string()
const specific = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject({ hookEventName: text, ...shape })
const notice = { systemMessage: text.optional() }
const block = { decision: z.literal('block').optional(), reason: text.min(1).optional() }
const added = z.strictObject({ ...notice, hookSpecificOutput: specific({ additionalContext: text }).optional() })

/** Codex refuses every field that its own schema does not have, and then runs the call. Claude Code has the same form and more. */
function claudeOutputs(decisions: [string, ...string[]]): Record<string, z.ZodType> {
  return {
    PreToolUse: z.strictObject({
      ...notice,
      hookSpecificOutput: specific({
        permissionDecision: z.enum(decisions),
        permissionDecisionReason: text.min(1).optional(),
        updatedInput: z.record(text, z.unknown()).optional(),
      }).optional(),
    }),
    PermissionRequest: z.strictObject({
      ...notice,
      hookSpecificOutput: specific({
        decision: z.strictObject({
          behavior: z.enum(['allow', 'deny']),
          message: text.min(1).optional(),
          updatedInput: z.record(text, z.unknown()).optional(),
        }),
      }).optional(),
    }),
    SessionStart: added,
    UserPromptSubmit: added,
    PostToolUse: added,
    PostToolUseFailure: added,
    Stop: z.strictObject({ ...notice, ...block }),
    SubagentStop: z.strictObject({ ...notice, ...block }),
    other: z.strictObject(notice),
  }
}

const geminiRefusal = { decision: z.enum(['deny', 'ask']).optional(), reason: text.min(1).optional() }
const copilotAdded = z.strictObject({ additionalContext: text.optional() })

/** What each vendor accepts on standard output, by its event. Only what we may say is listed: an `ask` for Codex is not. */
const OUTPUTS: Record<HookVendor, Record<string, z.ZodType>> = {
  claude: claudeOutputs(['allow', 'deny', 'ask']),
  codex: claudeOutputs(['deny']),
  gemini: {
    BeforeTool: z.strictObject({ ...notice, ...geminiRefusal }),
    AfterAgent: z.strictObject({ ...notice, decision: z.literal('deny').optional(), reason: text.min(1).optional() }),
    SessionStart: added,
    BeforeAgent: added,
    AfterTool: added,
    other: z.strictObject(notice),
  },
  copilot: {
    preToolUse: z.strictObject({
      permissionDecision: z.enum(['allow', 'deny', 'ask']).optional(),
      permissionDecisionReason: text.min(1).optional(),
    }),
    permissionRequest: z.strictObject({
      behavior: z.enum(['allow', 'deny']).optional(),
      message: text.min(1).optional(),
    }),
    agentStop: z.strictObject(block),
    subagentStop: z.strictObject(block),
    sessionStart: copilotAdded,
    userPromptSubmitted: copilotAdded,
    postToolUse: copilotAdded,
    postToolUseFailure: copilotAdded,
    other: z.strictObject({}),
  },
}

/** Checks what we would print at an event of a vendor; silence is always accepted. */
export function outputSchema(vendor: HookVendor, native: string): z.ZodType {
  const known = OUTPUTS[vendor][native] ?? OUTPUTS[vendor]['other'] ?? z.never()
  return z.union([z.literal(''), known])
}

const snake = { session_id: text.min(1), cwd: text.min(1), hook_event_name: text, transcript_path: text.nullable() }
const mode = { permission_mode: text }
const call = { tool_name: text.min(1), tool_input: z.record(text, z.unknown()) }
const camel = { sessionId: text.min(1), cwd: text.min(1), timestamp: z.number() }
const camelCall = { toolName: text.min(1), toolArgs: z.record(text, z.unknown()) }
const stopped = { stop_hook_active: z.boolean(), last_assistant_message: text.nullable() }

function claudeInputs(more: z.ZodRawShape): Record<string, z.ZodType> {
  return {
    SessionStart: z.looseObject({ ...snake, source: text }),
    SessionEnd: z.looseObject({ ...snake, reason: text }),
    UserPromptSubmit: z.looseObject({ ...snake, ...mode, ...more, prompt: text }),
    PreToolUse: z.looseObject({ ...snake, ...mode, ...more, ...call, tool_use_id: text.min(1) }),
    PermissionRequest: z.looseObject({ ...snake, ...mode, ...more, ...call }),
    PostToolUse: z.looseObject({ ...snake, ...mode, ...more, ...call, tool_use_id: text, tool_response: z.unknown() }),
    PostToolUseFailure: z.looseObject({ ...snake, ...mode, ...call, tool_use_id: text, error: text }),
    Stop: z.looseObject({ ...snake, ...mode, ...more, ...stopped }),
    SubagentStop: z.looseObject({ ...snake, ...mode, ...more, ...stopped, agent_id: text, agent_type: text }),
    StopFailure: z.looseObject({ ...snake, error: text }),
    PreCompact: z.looseObject({ ...snake, ...more, trigger: text }),
    Notification: z.looseObject({ ...snake, message: text }),
  }
}

const time = { timestamp: text }

/** What each vendor sends, by its event: the fields that our translators rely on. */
const INPUTS: Record<HookVendor, Record<string, z.ZodType>> = {
  claude: claudeInputs({}),
  codex: claudeInputs({ turn_id: text, model: text }),
  gemini: {
    SessionStart: z.looseObject({ ...snake, ...time, source: text }),
    SessionEnd: z.looseObject({ ...snake, ...time, reason: text }),
    BeforeAgent: z.looseObject({ ...snake, ...time, prompt: text }),
    BeforeTool: z.looseObject({ ...snake, ...time, ...call }),
    AfterTool: z.looseObject({ ...snake, ...time, ...call, tool_response: z.looseObject({ llmContent: z.unknown() }) }),
    Notification: z.looseObject({ ...snake, ...time, message: text, notification_type: text }),
    AfterAgent: z.looseObject({ ...snake, ...time, prompt_response: text, stop_hook_active: z.boolean() }),
  },
  copilot: {
    sessionStart: z.looseObject({ ...camel, source: text }),
    sessionEnd: z.looseObject({ ...camel, reason: text }),
    userPromptSubmitted: z.looseObject({ ...camel, prompt: text }),
    preToolUse: z.looseObject({ ...camel, ...camelCall }),
    permissionRequest: z.looseObject({ ...camel, toolName: text, toolInput: z.record(text, z.unknown()) }),
    postToolUse: z.looseObject({ ...camel, ...camelCall, toolResult: z.looseObject({ resultType: text }) }),
    preCompact: z.looseObject({ ...camel, trigger: text }),
    notification: z.looseObject({ ...camel, message: text }),
    errorOccurred: z.looseObject({ ...camel, error: z.looseObject({ message: text, name: text }) }),
    agentStop: z.looseObject({ ...camel, transcriptPath: text, stop_hook_active: z.boolean() }),
  },
}

export function inputSchema(vendor: HookVendor, native: string): z.ZodType | undefined {
  return INPUTS[vendor][native]
}
