import * as z from 'zod'

/**
 * What of the protocol is read here, as `codex app-server generate-ts` of the verified version has it. Later versions add fields and kinds
 * at will: whatever is not understood must not stop the rest, and must not be taken for a yes.
 */
const id = z.string().min(1)
const params = z.record(z.string(), z.unknown())
const maybe = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().catch(undefined)

export const RpcError = z.looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() })
export const Resolved = z.looseObject({ requestId: z.union([z.string(), z.number()]) })

export const Initialized = z.looseObject({ userAgent: z.string() })

/** What comes back from `thread/start`, `thread/resume` and `thread/fork`: the policy that is really in force. */
export const Opened = z.looseObject({
  thread: z.looseObject({ id, path: maybe(z.string()) }),
  model: z.string(),
  approvalPolicy: z.unknown(),
  approvalsReviewer: z.unknown(),
  sandbox: z.looseObject({
    type: z.string(),
    networkAccess: z.unknown().optional(),
    writableRoots: z.array(z.string()).optional(),
    excludeSlashTmp: z.unknown().optional(),
    excludeTmpdirEnvVar: z.unknown().optional(),
  }),
})
export type Opened = z.infer<typeof Opened>

export const ThreadSettings = z.looseObject({
  threadId: id,
  threadSettings: z.looseObject({ approvalPolicy: z.unknown(), approvalsReviewer: z.unknown() }),
})

export const TurnBegun = z.looseObject({ turn: z.looseObject({ id }) })

const TurnError = z.looseObject({
  message: z.string(),
  codexErrorInfo: z.unknown(),
  additionalDetails: maybe(z.string()),
})
export type TurnError = z.infer<typeof TurnError>

export const TurnCompleted = z.looseObject({
  threadId: id,
  turn: z.looseObject({ id, status: z.string(), error: maybe(TurnError) }),
})
export const ErrorTold = z.looseObject({ threadId: id, error: TurnError, willRetry: z.boolean() })

const Change = z.looseObject({
  path: z.string().min(1),
  kind: z.looseObject({ type: z.string(), move_path: maybe(z.string()) }),
  diff: z.string(),
})
export type Change = z.infer<typeof Change>

/** Something that Codex does or says; what it holds depends on its type. */
export const Item = z.looseObject({
  type: z.string(),
  id,
  status: maybe(z.string()),
  text: maybe(z.string()),
  summary: maybe(z.array(z.string())),
  command: maybe(z.string()),
  aggregatedOutput: maybe(z.string()),
  exitCode: maybe(z.number()),
  changes: maybe(z.array(Change)),
  server: maybe(z.string()),
  tool: maybe(z.string()),
  arguments: z.unknown().optional(),
  result: z.unknown().optional(),
  error: maybe(z.looseObject({ message: z.string() })),
  contentItems: maybe(z.array(z.looseObject({ text: z.string().optional() }))),
})
export type Item = z.infer<typeof Item>

export const ItemTold = z.looseObject({ threadId: id, item: Item })
export const Delta = z.looseObject({ threadId: id, itemId: id, delta: z.string() })
export const Typed = z.looseObject({ itemId: id, stdin: z.string() })

/** A call as the model made it: only here it says that it wants to run outside of the sandbox. */
export const RawItem = z.looseObject({
  threadId: id,
  item: z.looseObject({ type: z.literal('function_call'), call_id: id, arguments: z.string() }),
})

export const PlanUpdated = z.looseObject({
  threadId: id,
  plan: z.array(z.looseObject({ step: z.string(), status: z.string() })),
})

const count = z.number().nonnegative().catch(0)
const Tokens = z.looseObject({
  totalTokens: count,
  inputTokens: count,
  cachedInputTokens: count,
  cacheWriteInputTokens: count,
  outputTokens: count,
})
export type Tokens = z.infer<typeof Tokens>
export const TokenUsage = z.looseObject({
  threadId: id,
  tokenUsage: z.looseObject({ total: Tokens, last: Tokens, modelContextWindow: maybe(z.number()) }),
})

const Window = z.looseObject({
  usedPercent: z.number(),
  windowDurationMins: maybe(z.number()),
  resetsAt: maybe(z.number()),
})
export type Window = z.infer<typeof Window>
export const RateLimits = z.looseObject({
  rateLimits: z.looseObject({
    primary: maybe(Window),
    secondary: maybe(Window),
    rateLimitReachedType: maybe(z.string()),
  }),
})

/** Whose call it is. */
const asked = { threadId: id, itemId: id }

export const CommandAsk = z.looseObject({
  ...asked,
  kind: z.string().default('command'),
  command: maybe(z.string()),
  cwd: maybe(z.string()),
  reason: maybe(z.string()),
  networkApprovalContext: z.unknown().optional(),
  additionalPermissions: z.unknown().optional(),
  commandActions: maybe(z.array(z.looseObject({ type: z.string() }))),
})
export type CommandAsk = z.infer<typeof CommandAsk>

export const ChangeAsk = z.looseObject({ ...asked, grantRoot: maybe(z.string()) })

export const UserInputAsk = z.looseObject({
  ...asked,
  questions: z
    .array(
      z.looseObject({
        id: z.string(),
        header: z.string().catch(''),
        question: z.string().min(1),
        options: maybe(z.array(z.looseObject({ label: z.string(), description: z.string().catch('') }))),
      }),
    )
    .min(1),
})
export type UserInputAsk = z.infer<typeof UserInputAsk>

export const Elicitation = z.looseObject({
  threadId: id,
  serverName: z.string(),
  message: z.string().catch(''),
  _meta: maybe(z.looseObject({ codex_approval_kind: z.string().optional(), tool_params: z.unknown().optional() })),
})

export const OwnToolAsk = z.looseObject({
  threadId: id,
  callId: id,
  namespace: maybe(z.string()),
  tool: z.string(),
  arguments: params.catch({}),
})
