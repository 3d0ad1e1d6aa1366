import * as z from 'zod'

/** What of the protocol is read here. Agents add fields and kinds at will: whatever is not understood must not stop the rest. */
const Text = z.looseObject({ type: z.string(), text: z.string().optional() })
const Meta = z.record(z.string(), z.unknown()).nullish()

const Content = z.looseObject({
  type: z.string(),
  content: Text.optional(),
  path: z.string().optional(),
  oldText: z.string().nullish(),
  newText: z.string().optional(),
})
export type Content = z.infer<typeof Content>

/** A tool call, or what is new about one. */
export const ToolCall = z.looseObject({
  toolCallId: z.string().min(1),
  title: z.string().nullish(),
  name: z.string().nullish(),
  kind: z.string().nullish(),
  status: z.string().nullish(),
  content: z.array(Content).nullish(),
  locations: z.array(z.looseObject({ path: z.string() })).nullish(),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: Meta,
})
export type ToolCall = z.infer<typeof ToolCall>

export const Chunk = z.looseObject({ content: Text, messageId: z.string().nullish(), _meta: Meta })

export const Plan = z.looseObject({
  entries: z.array(z.looseObject({ content: z.string(), status: z.string() })),
})

export const UsageUpdate = z.looseObject({
  used: z.number(),
  size: z.number(),
  cost: z.looseObject({ amount: z.number() }).nullish(),
  _meta: Meta,
})

export const Compaction = z.looseObject({ status: z.string().optional() })
export const ModeUpdate = z.looseObject({ currentModeId: z.string() })

export const Update = z.looseObject({
  sessionId: z.string(),
  update: z.looseObject({ sessionUpdate: z.string() }),
})

export const PermissionAsk = z.looseObject({
  sessionId: z.string(),
  toolCall: ToolCall,
  options: z.array(z.looseObject({ optionId: z.string(), kind: z.string() })),
})
export type PermissionAsk = z.infer<typeof PermissionAsk>

const capability = z.unknown().transform(value => typeof value === 'object' && value !== null)

export const Initialized = z.looseObject({
  protocolVersion: z.number(),
  agentInfo: z.looseObject({ version: z.string().optional() }).nullish(),
  agentCapabilities: z
    .looseObject({
      loadSession: z.boolean().optional(),
      sessionCapabilities: z
        .looseObject({ resume: capability, fork: capability, list: capability })
        .catch({ resume: false, fork: false, list: false })
        .optional(),
    })
    .optional(),
  _meta: z
    .looseObject({ steering: z.looseObject({ supported: z.boolean() }).optional() })
    .nullish()
    .catch(undefined),
})
export type Initialized = z.infer<typeof Initialized>

const Modes = z.looseObject({
  currentModeId: z.string(),
  availableModes: z.array(z.looseObject({ id: z.string() })).default([]),
})

/** What comes back from `session/new`, and from `resume`, `load` and `fork`. */
export const Opened = z.looseObject({
  sessionId: z.string().optional(),
  modes: Modes.nullish().catch(undefined),
  models: z.looseObject({ currentModelId: z.string() }).nullish().catch(undefined),
  configOptions: z
    .array(z.looseObject({ id: z.string(), currentValue: z.unknown() }))
    .nullish()
    .catch(undefined),
})
export type Opened = z.infer<typeof Opened>

const count = z.number().nonnegative().catch(0).default(0)

/** The end of a turn. Tokens stand in one of two places, under one of two names. */
export const Stopped = z.looseObject({
  stopReason: z.string(),
  usage: z
    .looseObject({ inputTokens: count, outputTokens: count, cachedReadTokens: count, cachedWriteTokens: count })
    .nullish()
    .catch(undefined),
  _meta: z
    .looseObject({
      quota: z.looseObject({ token_count: z.looseObject({ input_tokens: count, output_tokens: count }) }).optional(),
    })
    .nullish()
    .catch(undefined),
})
export type Stopped = z.infer<typeof Stopped>

export const RpcError = z.looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() })
