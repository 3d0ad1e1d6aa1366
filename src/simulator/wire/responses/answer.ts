import { newId, tokensIn } from '../ids.ts'
import { textPieces } from '../text-pieces.ts'
import type { Answering, Piece } from '../wire.ts'
import { callId } from './ids.ts'

interface Item {
  type: string
  id: string
  [key: string]: unknown
}

/** The answer as one body. */
export function wholeAnswer(answer: Answering) {
  const id = newId('resp')
  const output = itemsOf(answer, id)
  return { ...shell(answer, id), ...ending(answer, output), output }
}

/** The answer as a stream of numbered events. */
export function* streamedAnswer(answer: Answering): Generator<Piece> {
  const id = newId('resp')
  const output = itemsOf(answer, id)
  let number = 0
  const event = (type: string, more: object, isDelta = false): Piece => ({
    text: encode({ type, sequence_number: number++, ...more }),
    isDelta,
  })
  yield event('response.created', { response: { ...shell(answer, id), status: 'in_progress', output: [] } })
  for (const [output_index, item] of output.entries()) {
    const at = { output_index, item_id: item.id }
    yield event('response.output_item.added', { output_index, item: emptied(item) })
    for (const { type, ...more } of partsOf(item)) yield event(type, { ...at, ...more }, type.endsWith('.delta'))
    yield event('response.output_item.done', { output_index, item })
  }
  const end = ending(answer, output)
  yield event(`response.${end.status}`, { response: { ...shell(answer, id), ...end, output } })
}

/** One event as it goes over the wire. */
export function encode(event: { type: string; [key: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

function shell({ asked }: Answering, id: string) {
  return { id, object: 'response', created_at: 0, model: asked.dialogue.model, error: null }
}

const CUT: Record<string, string> = {
  max_tokens: 'max_output_tokens',
  model_context_window_exceeded: 'max_output_tokens',
  refusal: 'content_filter',
}

function ending(answer: Answering, output: Item[]) {
  const reason = CUT[answer.turn.stop_reason ?? '']
  return {
    status: reason ? 'incomplete' : 'completed',
    incomplete_details: reason ? { reason } : null,
    usage: usageOf(answer, output),
  }
}

function itemsOf({ turn, asked }: Answering, id: string): Item[] {
  const summary = turn.thinking ? [{ type: 'summary_text', text: turn.thinking }] : []
  return [
    ...(turn.thinking ? [{ type: 'reasoning', id: newId('rs'), summary }] : []),
    ...(turn.text ? [message(turn.text)] : []),
    ...(turn.tools ?? []).map(({ name, input }, at): Item => {
      const call = { id: newId('call'), call_id: callId(id, at), name, status: 'completed' }
      // A tool that takes free text gets the one text that its input holds.
      if (asked.freeform.includes(name))
        return { type: 'custom_tool_call', ...call, input: String(Object.values(input)[0] ?? '') }
      return { type: 'function_call', ...call, ...asked.namespaced?.[name], arguments: JSON.stringify(input) }
    }),
  ]
}

function message(text: string): Item {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return { type: 'message', id: newId('msg'), role: 'assistant', status: 'completed', content }
}

function emptied(item: Item): Item {
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] }
  if (item.type === 'reasoning') return { ...item, summary: [] }
  return { ...item, status: 'in_progress', ...(item.type === 'function_call' ? { arguments: '' } : { input: '' }) }
}

function* partsOf(item: Item): Generator<{ type: string; [key: string]: unknown }> {
  if (item.type === 'message') {
    const [{ text }] = item['content'] as [{ text: string }]
    const at = { content_index: 0 }
    yield { type: 'response.content_part.added', ...at, part: { type: 'output_text', text: '', annotations: [] } }
    for (const delta of textPieces(text)) yield { type: 'response.output_text.delta', ...at, delta }
    yield { type: 'response.output_text.done', ...at, text }
  }
  if (item.type === 'reasoning') {
    const [{ text }] = item['summary'] as [{ text: string }]
    const at = { summary_index: 0 }
    yield { type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } }
    for (const delta of textPieces(text)) yield { type: 'response.reasoning_summary_text.delta', ...at, delta }
    yield { type: 'response.reasoning_summary_text.done', ...at, text }
  }
  if (item.type === 'function_call')
    for (const delta of textPieces(String(item['arguments'])))
      yield { type: 'response.function_call_arguments.delta', delta }
  if (item.type === 'custom_tool_call')
    for (const delta of textPieces(String(item['input'])))
      yield { type: 'response.custom_tool_call_input.delta', delta }
}

function usageOf({ turn, bytes }: Answering, output: Item[]) {
  const { usage = {} } = turn
  const cached = usage.cache_read_input_tokens ?? 0
  const input = (usage.input_tokens ?? tokensIn(bytes)) + cached + (usage.cache_creation_input_tokens ?? 0)
  const given = usage.output_tokens ?? tokensIn(JSON.stringify(output).length)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: given,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + given,
  }
}
