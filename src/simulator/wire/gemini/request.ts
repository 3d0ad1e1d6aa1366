import * as z from 'zod'
import type { Dialogue, Entry } from '../dialogue.ts'
import type { Asked, Route } from '../wire.ts'

const Part = z.looseObject({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  functionCall: z.looseObject({ name: z.string(), args: z.record(z.string(), z.unknown()).optional() }).optional(),
  functionResponse: z.looseObject({ name: z.string().optional(), response: z.unknown() }).optional(),
})
type Part = z.infer<typeof Part>
const Content = z.looseObject({ role: z.string().optional(), parts: z.array(Part).default([]) })

/** What of a request matters here; everything else the agent sends is let through unread. */
const GenerateContentRequest = z.looseObject({
  contents: z.union([Content.transform(one => [one]), z.array(Content).min(1)]),
  systemInstruction: Content.optional(),
  tools: z
    .array(z.looseObject({ functionDeclarations: z.array(z.looseObject({ name: z.string() })).optional() }))
    .optional(),
})

/** Reads a request of the Gemini API. */
export function readGemini(body: unknown, { model = '', stream = false }: Route): Asked | { problem: string } {
  const parsed = GenerateContentRequest.safeParse(body)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    return { problem: `${issue?.path.join('.')}: ${issue?.message}` }
  }
  const { contents, systemInstruction, tools = [] } = parsed.data
  const system = (systemInstruction?.parts ?? []).map(textOf).join('\n')
  const names = tools.flatMap(tool => (tool.functionDeclarations ?? []).map(one => one.name))
  const dialogue: Dialogue = {
    entries: contents.flatMap(({ role, parts }) => entriesOf(role, parts)),
    system,
    model,
    tools: names,
    cwd: cwdIn([system, ...contents.flatMap(({ parts }) => parts.map(textOf))]),
  }
  const messages = contents.map(({ role = 'user', parts }) => ({ role, content: parts.map(typed) }))
  return { dialogue, stream, session: '', body: { system, messages, tools: names }, freeform: [] }
}

function entriesOf(role: string | undefined, parts: Part[]): Entry[] {
  if (role === 'model') return [{ kind: 'reply', text: parts.map(textOf).filter(Boolean).join('\n') }]
  return parts.flatMap((part): Entry[] => {
    if (part.functionResponse) return [resultOf(part.functionResponse.response)]
    const text = part.text?.trim() ?? ''
    if (!text) return []
    return [{ kind: isNote(text) ? 'note' : 'prompt', text }]
  })
}

/** What Gemini CLI itself puts before and between what the person says. */
const NOTE = /^(<session_context>|<hook_context>|<state_snapshot>|This is the Gemini CLI\. We are setting up)/

function isNote(text: string): boolean {
  return NOTE.test(text)
}

/** Gemini CLI tells a failure under `error`, a denial included; that a command failed it only says in the text. */
function resultOf(response: unknown): Entry {
  const text = wordsOf(response)
  const isError = typeof response === 'object' && response !== null && 'error' in response
  return { kind: 'tool_result', text, failed: isError || /(^|\n)Exit Code: (?!0\b)\d+/.test(text) }
}

function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(wordsOf).filter(Boolean).join('\n')
  if (typeof value !== 'object' || value === null) return value === undefined || value === null ? '' : String(value)
  return Object.values(value).map(wordsOf).filter(Boolean).join('\n')
}

function textOf(part: Part): string {
  if (part.text !== undefined) return part.text
  if (part.functionCall) return `${part.functionCall.name} ${JSON.stringify(part.functionCall.args ?? {})}`
  return part.functionResponse ? wordsOf(part.functionResponse.response) : ''
}

function typed(part: Part): { type: string; [key: string]: unknown } {
  return { type: Object.keys(part).find(key => key !== 'thought') ?? 'text', ...part }
}

const CWD = [
  /[Ww]orkspace [Dd]irectories:\**\s*\n\s*- (\/[^\n]*)/,
  /working in the (?:following )?director(?:y|ies):?\s*(?:\n\s*- )?(\/[^\n]*)/,
]

function cwdIn(texts: string[]): string {
  for (const text of texts)
    for (const form of CWD) {
      const found = form.exec(text)?.[1]
      if (found) return found.trim()
    }
  return ''
}
