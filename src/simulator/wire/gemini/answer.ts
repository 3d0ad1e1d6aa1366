import { newId, tokensIn } from '../ids.ts'
import { textPieces } from '../text-pieces.ts'
import type { Answering, Piece } from '../wire.ts'

type Part = { text: string; thought?: true } | { functionCall: { id: string; name: string; args: unknown } }

/** The answer as one body. */
export function wholeAnswer(answer: Answering) {
  return chunk(answer, partsOf(answer), { isLast: true, id: newId('resp') })
}

/** The answer as a stream: text in pieces, a call whole, the last event with the reason and the usage. */
export function* streamedAnswer(answer: Answering): Generator<Piece> {
  const id = newId('resp')
  for (const part of partsOf(answer)) {
    const parts = 'text' in part ? [...textPieces(part.text)].map(text => ({ ...part, text })) : [part]
    for (const one of parts) yield { text: encode(chunk(answer, [one], { isLast: false, id })), isDelta: true }
  }
  yield { text: encode(chunk(answer, [{ text: '' }], { isLast: true, id })), isDelta: false }
}

/** One event as it goes over the wire. */
export function encode(body: unknown): string {
  return `data: ${JSON.stringify(body)}\r\n\r\n`
}

function chunk(answer: Answering, parts: Part[], { isLast, id }: { isLast: boolean; id: string }) {
  const candidate = {
    content: { role: 'model', parts },
    index: 0,
    ...(isLast && { finishReason: finishOf(answer.turn.stop_reason) }),
  }
  return {
    candidates: [candidate],
    usageMetadata: usageOf(answer),
    modelVersion: answer.asked.dialogue.model,
    responseId: id,
  }
}

function partsOf({ turn }: Answering): Part[] {
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

function usageOf(answer: Answering) {
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
