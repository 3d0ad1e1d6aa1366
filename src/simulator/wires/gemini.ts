import * as z from 'zod'
import { unreachable } from '../../base/errors.ts'
import { scenarioTimeMs } from '../faults.ts'
import {
  type Dialogue,
  type DialogueEntry,
  type ErrorFault,
  newId,
  type Route,
  type StreamPiece,
  textPieces,
  tokensIn,
  type Wire,
  type WireAnswer,
  type WireError,
  type WireRequest,
} from './wire.ts'

type AnswerPart = { text: string; thought?: true } | { functionCall: { id: string; name: string; args: unknown } }

/** The answer as one body. */
function wholeAnswer(answer: WireAnswer) {
  return chunk(answer, partsOf(answer), { isLast: true, id: newId('resp') })
}

/** The answer as a stream: text in pieces, a call whole, the last event with the reason and the usage. */
function* streamedAnswer(answer: WireAnswer): Generator<StreamPiece> {
  const id = newId('resp')
  for (const part of partsOf(answer)) {
    const parts = 'text' in part ? [...textPieces(part.text)].map(text => ({ ...part, text })) : [part]
    for (const piece of parts) yield { text: encode(chunk(answer, [piece], { isLast: false, id })), isDelta: true }
  }
  yield { text: encode(chunk(answer, [{ text: '' }], { isLast: true, id })), isDelta: false }
}

/** Encodes one event. */
function encode(body: unknown): string {
  return `data: ${JSON.stringify(body)}\r\n\r\n`
}

function chunk(answer: WireAnswer, parts: AnswerPart[], { isLast, id }: { isLast: boolean; id: string }) {
  const candidate = {
    content: { role: 'model', parts },
    index: 0,
    ...(isLast && { finishReason: finishOf(answer.turn.stop_reason) }),
  }
  return {
    candidates: [candidate],
    usageMetadata: usageOf(answer),
    modelVersion: answer.request.dialogue.model,
    responseId: id,
  }
}

function partsOf({ turn }: WireAnswer): AnswerPart[] {
  return [
    ...(turn.thinking ? [{ text: turn.thinking, thought: true as const }] : []),
    ...(turn.text ? [{ text: turn.text }] : []),
    ...(turn.tools ?? []).map(({ name, input }) => ({ functionCall: { id: newId('call'), name, args: input } })),
  ]
}

const FINISH: Record<string, string> = {
  max_tokens: 'MAX_TOKENS',
  model_context_window_exceeded: 'MAX_TOKENS',
  refusal: 'SAFETY',
}

function finishOf(reason: string | undefined): string {
  return FINISH[reason ?? ''] ?? 'STOP'
}

function usageOf(answer: WireAnswer) {
  const { usage = {} } = answer.turn
  const cached = usage.cache_read_input_tokens ?? 0
  const fresh = usage.input_tokens ?? tokensIn(answer.bytes)
  const prompt = fresh + cached + (usage.cache_creation_input_tokens ?? 0)
  const candidates = usage.output_tokens ?? tokensIn(JSON.stringify(partsOf(answer)).length)
  return {
    promptTokenCount: prompt,
    cachedContentTokenCount: cached,
    candidatesTokenCount: candidates,
    totalTokenCount: prompt + candidates,
  }
}

const DETAIL = 'type.googleapis.com/google.rpc'

/** An error in Google's own format. Gemini CLI reads the details to tell a temporary limit from a final one. */
function geminiFailure(fault: ErrorFault, { model, now }: { model: string; now: number }): WireError {
  switch (fault.kind) {
    case 'limit': {
      const resetMs = scenarioTimeMs(fault.resets ?? fault.until ?? '+5h', now) ?? now
      const seconds = Math.max(1, Math.ceil((resetMs - now) / 1000))
      const message =
        fault.message ??
        `You have exhausted your capacity on this model. Your quota will reset after ${formatDuration(seconds)}.`
      return failure(429, message, [
        info('QUOTA_EXHAUSTED', 'cloudcode-pa.googleapis.com', { model, quotaResetDelay: `${seconds}s` }),
        retryIn(seconds),
      ])
    }
    case 'rate_limit': {
      const seconds = fault.retry_after ?? 1
      const message =
        fault.message ??
        `You exceeded your current quota, please check your plan and billing details. Please retry in ${seconds}s.`
      return failure(429, message, [quota('GenerateRequestsPerMinutePerProjectPerModel-FreeTier'), retryIn(seconds)])
    }
    case 'overloaded':
      return failure(503, fault.message ?? 'The model is overloaded. Please try again later.')
    case 'server_error':
      return failure(500, fault.message ?? 'An internal error has occurred.')
    case 'unauthorized':
      return failure(400, fault.message ?? 'API key not valid. Please pass a valid API key.', [
        info('API_KEY_INVALID', 'googleapis.com', { service: 'generativelanguage.googleapis.com' }),
      ])
    case 'forbidden':
      return failure(403, fault.message ?? 'The caller does not have permission')
    case 'model_not_found':
      return failure(404, fault.message ?? `models/${model} is not found for API version v1beta.`)
    case 'credit_too_low':
      return failure(
        429,
        fault.message ??
          'Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.',
        [info('INSUFFICIENT_G1_CREDITS_BALANCE', 'cloudcode-pa.googleapis.com', {})],
      )
    case 'prompt_too_long':
      return failure(
        400,
        fault.message ?? 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      )
    case 'http':
      return { ...failure(fault.status, fault.message ?? `Error ${fault.status}`), headers: fault.headers }
    default:
      return unreachable(fault)
  }
}

const STATUS: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** Google's error format. */
function googleError(code: number, message: string, details: unknown[] = []) {
  return { error: { code, message, status: STATUS[code] ?? 'UNKNOWN', ...(details.length > 0 && { details }) } }
}

function failure(status: number, message: string, details: unknown[] = []): WireError {
  return { status, headers: {}, body: googleError(status, message, details) }
}

function info(reason: string, domain: string, metadata: Record<string, string>) {
  return { '@type': `${DETAIL}.ErrorInfo`, reason, domain, metadata }
}

function retryIn(seconds: number) {
  return { '@type': `${DETAIL}.RetryInfo`, retryDelay: `${seconds}s` }
}

function quota(quotaId: string) {
  const quotaMetric = 'generativelanguage.googleapis.com/generate_content_free_tier_requests'
  return { '@type': `${DETAIL}.QuotaFailure`, violations: [{ quotaMetric, quotaId, quotaValue: '50' }] }
}

/** `2h3m4s`, as Google writes it. */
function formatDuration(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  return `${hours ? `${hours}h` : ''}${hours || minutes ? `${minutes}m` : ''}${rest}s`
}

const Part = z.looseObject({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  functionCall: z.looseObject({ name: z.string(), args: z.record(z.string(), z.unknown()).optional() }).optional(),
  functionResponse: z.looseObject({ name: z.string().optional(), response: z.unknown() }).optional(),
})
type Part = z.infer<typeof Part>
const Content = z.looseObject({ role: z.string().optional(), parts: z.array(Part).default([]) })

/** The parts of a request that matter here; everything else that the agent sends is ignored. */
const GenerateContentRequest = z.looseObject({
  contents: z.union([Content.transform(content => [content]), z.array(Content).min(1)]),
  systemInstruction: Content.optional(),
  tools: z
    .array(z.looseObject({ functionDeclarations: z.array(z.looseObject({ name: z.string() })).optional() }))
    .optional(),
})

/** Reads a request of the Gemini API. */
function readGemini(body: unknown, { model = '', stream = false }: Route): WireRequest | { problem: string } {
  const parsed = GenerateContentRequest.safeParse(body)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    return { problem: `${issue?.path.join('.')}: ${issue?.message}` }
  }
  const { contents, systemInstruction, tools = [] } = parsed.data
  const system = (systemInstruction?.parts ?? []).map(textOf).join('\n')
  const names = tools.flatMap(tool => (tool.functionDeclarations ?? []).map(({ name }) => name))
  const dialogue: Dialogue = {
    entries: contents.flatMap(({ role, parts }) => entriesOf(role, parts)),
    system,
    model,
    tools: names,
    cwd: findCwd([system, ...contents.flatMap(({ parts }) => parts.map(textOf))]),
  }
  const messages = contents.map(({ role = 'user', parts }) => ({ role, content: parts.map(withType) }))
  return { dialogue, stream, session: '', body: { system, messages, tools: names }, freeform: [] }
}

function entriesOf(role: string | undefined, parts: Part[]): DialogueEntry[] {
  if (role === 'model') return [{ kind: 'reply', text: parts.map(textOf).filter(Boolean).join('\n') }]
  return parts.flatMap((part): DialogueEntry[] => {
    if (part.functionResponse) return [resultOf(part.functionResponse.response)]
    const text = part.text?.trim() ?? ''
    if (!text) return []
    return [{ kind: isNote(text) ? 'note' : 'prompt', text }]
  })
}

/** Texts that Gemini CLI itself adds before and between the person's prompts. */
const NOTE = /^(<session_context>|<hook_context>|<state_snapshot>|This is the Gemini CLI\. We are setting up)/

function isNote(text: string): boolean {
  return NOTE.test(text)
}

/** Gemini CLI reports failures and denials under `error`; a failed command it only reports in the text. */
function resultOf(response: unknown): DialogueEntry {
  const text = flattenText(response)
  const isError = typeof response === 'object' && response !== null && 'error' in response
  return { kind: 'tool_result', text, failed: isError || /(^|\n)Exit Code: (?!0\b)\d+/.test(text) }
}

function flattenText(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(flattenText).filter(Boolean).join('\n')
  if (typeof value !== 'object' || value === null) return value === undefined || value === null ? '' : String(value)
  return Object.values(value).map(flattenText).filter(Boolean).join('\n')
}

function textOf(part: Part): string {
  if (part.text !== undefined) return part.text
  if (part.functionCall) return `${part.functionCall.name} ${JSON.stringify(part.functionCall.args ?? {})}`
  return part.functionResponse ? flattenText(part.functionResponse.response) : ''
}

function withType(part: Part): { type: string; [key: string]: unknown } {
  return { type: Object.keys(part).find(key => key !== 'thought') ?? 'text', ...part }
}

const CWD = [
  /[Ww]orkspace [Dd]irectories:\**\s*\n\s*- (\/[^\n]*)/,
  /working in the (?:following )?director(?:y|ies):?\s*(?:\n\s*- )?(\/[^\n]*)/,
]

function findCwd(texts: string[]): string {
  for (const text of texts)
    for (const form of CWD) {
      const cwd = form.exec(text)?.[1]
      if (cwd) return cwd.trim()
    }
  return ''
}

const PATH = /^\/v1(?:beta|alpha)?\/models\/([^/:]+):(streamGenerateContent|generateContent|countTokens)$/

/** The Gemini API of Google. */
export const geminiWire: Wire = {
  name: 'gemini',
  idHeader: 'x-request-id',
  serves: 'POST /v1beta/models/<model>:streamGenerateContent, :generateContent and :countTokens',
  route(method, path): Route | undefined {
    const [, model, verb] = (method === 'POST' && PATH.exec(path)) || []
    if (!verb) return undefined
    if (verb === 'countTokens') return { asks: 'count', model }
    return { asks: 'answer', model, stream: verb === 'streamGenerateContent' }
  },
  read: readGemini,
  pieces: streamedAnswer,
  whole: wholeAnswer,
  count: tokens => ({ totalTokens: tokens }),
  // Google reports no usage of windows.
  windows: () => ({}),
  failure: geminiFailure,
  refusal: (status, message) => googleError(status, message),
  broken: 'data: {"candidates":[{"content":{"role":"mod\r\n\r\n',
  errorEvent: (_type, message) => encode(googleError(503, message)),
}
