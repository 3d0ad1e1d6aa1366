import * as z from 'zod'
import type { Dialogue, DialogueEntry, WireRequest } from './wire.ts'

const Item = z.looseObject({
  type: z.string().default('message'),
  role: z.string().optional(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
  call_id: z.string().optional(),
  output: z.unknown().optional(),
})
type Item = z.infer<typeof Item>

const Named = z.looseObject({ name: z.string() })
const Tool = z.looseObject({
  type: z.string(),
  name: z.string().optional(),
  tools: z.array(Named).optional().catch(undefined),
})

/** The parts of a request that matter here; everything else that the agent sends is ignored. */
const ResponsesRequest = z.looseObject({
  model: z.string(),
  stream: z.boolean().nullish(),
  instructions: z.string().nullish(),
  input: z.union([
    z.string().transform((content): Item[] => [{ type: 'message', role: 'user', content }]),
    z.array(Item).min(1),
  ]),
  tools: z.array(Tool).nullish(),
  prompt_cache_key: z.string().nullish(),
})

/** Reads a request of the Responses API. */
export function readResponses(body: unknown): WireRequest | { problem: string } {
  const parsed = ResponsesRequest.safeParse(body)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    return { problem: `${issue?.path.join('.')}: ${issue?.message}` }
  }
  const { model, input, instructions, stream, tools, prompt_cache_key } = parsed.data
  const named = (tools ?? []).flatMap(tool => (tool.name === undefined ? [] : [{ ...tool, name: tool.name }]))
  const names = named.map(tool => tool.name)
  const system = [instructions ?? '', ...input.filter(isSystem).map(textOf)].filter(Boolean).join('\n')
  const dialogue: Dialogue = { entries: entriesOf(input), system, model, tools: names, cwd: findCwd(input.map(textOf)) }
  return {
    dialogue,
    stream: stream ?? false,
    session: prompt_cache_key ?? '',
    body: {
      system,
      messages: input.map(item => ({ role: item.role ?? item.type, content: [{ ...item }] })),
      tools: names,
    },
    freeform: named.filter(tool => tool.type === 'custom').map(tool => tool.name),
    namespaced: Object.fromEntries(named.filter(tool => tool.type === 'namespace').flatMap(namespacedTools)),
  }
}

function namespacedTools({ name: namespace, tools = [] }: { name: string; tools?: { name: string }[] | undefined }) {
  const server = namespace.replace(/^mcp__/, '').replace(/__$/, '')
  return tools.map(({ name }) => [`mcp__${server}__${name}`, { namespace, name }] as const)
}

function entriesOf(input: Item[]): DialogueEntry[] {
  const entries: DialogueEntry[] = []
  let last: Item | undefined
  for (const item of input) {
    if (isReply(item)) {
      // An answer is several items: they are adjacent, or their calls carry the id of the same answer.
      const isSame = last && (input[input.indexOf(item) - 1] === last || isSameAnswer(last.call_id, item.call_id))
      if (!isSame) entries.push({ kind: 'reply', text: textOf(item) })
      else extend(entries, textOf(item))
      last = item
    } else entries.push(...inputEntries(item))
  }
  return entries
}

function extend(entries: DialogueEntry[], text: string): void {
  const reply = entries.findLast(entry => entry.kind === 'reply')
  if (reply && text) reply.text = `${reply.text}\n${text}`
}

function isReply(item: Item): boolean {
  if (item.type === 'message') return item.role === 'assistant'
  return ['function_call', 'custom_tool_call', 'local_shell_call', 'reasoning'].includes(item.type)
}

function isSystem({ type, role }: Item): boolean {
  return type === 'message' && (role === 'developer' || role === 'system')
}

function inputEntries(item: Item): DialogueEntry[] {
  if (item.type.endsWith('_call_output')) {
    const text = flattenText(item.output)
    return [{ kind: 'tool_result', text, failed: hasFailed(text) }]
  }
  if (item.type !== 'message') return []
  if (isSystem(item)) return [{ kind: 'note', text: textOf(item) }]
  return partsOf(item).flatMap((text): DialogueEntry[] => {
    const trimmed = text.trim()
    return trimmed ? [{ kind: NOTE.test(trimmed) ? 'note' : 'prompt', text: trimmed }] : []
  })
}

/** Texts that Codex itself adds before and between the person's prompts. */
const NOTE =
  /^(<(environment_context|user_instructions|user_shell_command|turn_aborted|permissions|skills?|apps_instructions|subagent_notification)[\s>_]|# AGENTS\.md instructions)/

/** The API has no field for a failure: Codex writes the exit code, or why a call did not run, into the text. */
const FAILED =
  /(^|\n)(Process exited with code (?!0\b)\d+|Exit code: (?!0\b)\d+|exec_command failed|apply_patch verification failed|patch rejected|rejected by user|aborted|unsupported call)|"exit_code":\s*(?!0\b)\d+/

function hasFailed(text: string): boolean {
  return FAILED.test(text)
}

function partsOf({ content }: Item): string[] {
  if (typeof content === 'string') return [content]
  return (content ?? []).map(part => String(part['text'] ?? ''))
}

function textOf(item: Item): string {
  if (item.type === 'function_call') return `${String(item['name'])} ${String(item['arguments'] ?? '{}')}`
  if (item.type === 'custom_tool_call') return `${String(item['name'])} ${String(item['input'] ?? '')}`
  if (item.type === 'reasoning') return flattenText(item['summary'])
  if (item.type.endsWith('_call_output')) return flattenText(item.output)
  return partsOf(item).join('\n')
}

function flattenText(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(flattenText).filter(Boolean).join('\n')
  if (typeof value !== 'object' || value === null) return ''
  const { text, content, output } = value as Record<string, unknown>
  return flattenText(text ?? content ?? output ?? JSON.stringify(value))
}

function findCwd(texts: string[]): string {
  for (const text of texts) {
    const cwd = /<cwd>(\/[^<]*)<\/cwd>/.exec(text)?.[1]
    if (cwd) return cwd.trim()
  }
  return ''
}

/** The id of a call contains its answer's id: agents may put the result of a call between two calls of one answer. */
export function callId(answerId: string, at: number): string {
  return `call_${answerId}_${at}`
}

/** Whether two calls were made by one answer. */
function isSameAnswer(first: string | undefined, second: string | undefined): boolean {
  const answer = answerOf(first)
  return answer !== undefined && answer === answerOf(second)
}

function answerOf(id: string | undefined): string | undefined {
  return /^call_(resp_sim_[0-9a-f]+)_\d+$/.exec(id ?? '')?.[1]
}
