import * as z from 'zod'
import type { Dialogue, DialogueEntry } from './wire.ts'

/** The parts of a Messages request that matter here; everything else that the agent sends is ignored. */
const Block = z.looseObject({ type: z.string() })
const Content = z.union([z.string(), z.array(Block)])
export const MessagesRequest = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  system: Content.optional(),
  messages: z.array(z.looseObject({ role: z.string(), content: Content })).min(1),
  tools: z.array(z.looseObject({ name: z.string().optional() })).optional(),
  metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
})
export type MessagesRequest = z.infer<typeof MessagesRequest>
type Block = z.infer<typeof Block>

/** Reads a request as a dialogue. The agent's reminders are not part of the person's prompts. */
export function readDialogue(request: MessagesRequest): Dialogue {
  const system = textOf(request.system ?? '')
  return {
    entries: entriesOf(request),
    system,
    model: request.model,
    tools: (request.tools ?? []).flatMap(tool => tool.name ?? []),
    cwd: findCwd([system, ...request.messages.map(message => textOf(message.content))]),
  }
}

function entriesOf(request: MessagesRequest): DialogueEntry[] {
  const entries: DialogueEntry[] = []
  let previousRole = ''
  for (const { role, content } of request.messages) {
    // An answer cut into several assistant messages is still one answer.
    if (role === 'assistant' && previousRole !== 'assistant') entries.push(replyOrFiller(textOf(content)))
    if (role === 'user') entries.push(...userEntries(content))
    if (role === 'system') entries.push({ kind: 'note', text: textOf(content) })
    previousRole = role
  }
  return entries
}

/** The text that Claude Code puts in place of an answer when a turn was cut off before there was one. */
const FILLER = 'No response requested.'

function replyOrFiller(text: string): DialogueEntry {
  return { kind: text.trim() === FILLER ? 'note' : 'reply', text }
}

function userEntries(content: string | Block[]): DialogueEntry[] {
  const blocks: Block[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return blocks.flatMap((block): DialogueEntry[] => {
    if (block.type === 'tool_result') {
      return [{ kind: 'tool_result', text: withoutReminders(textOf(block)), failed: block['is_error'] === true }]
    }
    const text = withoutReminders(textOf(block))
    const note = remindersOf(textOf(block))
    return [
      ...(note ? [{ kind: 'note' as const, text: note }] : []),
      ...(text ? [{ kind: 'prompt' as const, text }] : []),
    ]
  })
}

/** What Claude Code adds by itself: reminders, and the record of a command of its own, such as the `/clear` before a conversation. */
const REMINDER =
  /<(system-reminder|local-command-caveat|local-command-stdout|command-name|command-message|command-args)>[\s\S]*?<\/\1>/g

function withoutReminders(text: string): string {
  return text.replace(REMINDER, '').trim()
}

function remindersOf(text: string): string {
  return (text.match(REMINDER) ?? []).join('\n')
}

/** All the text of a block, however deep: text, thinking, tool input, tool result. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map(textOf).filter(Boolean).join('\n')
  if (typeof content !== 'object' || content === null) return ''
  const block = content as Block
  if (block.type === 'text' || block.type === 'thinking') return String(block[block.type] ?? '')
  if (block.type === 'tool_use') return `${String(block['name'])} ${JSON.stringify(block['input'] ?? {})}`
  if (block.type === 'tool_result') return textOf(block['content'] ?? '')
  return ''
}

function findCwd(texts: string[]): string {
  for (const text of texts) {
    const match = /[Ww]orking directory: (\/[^\n]*)/.exec(text)
    if (match?.[1]) return match[1].trim()
  }
  return ''
}
