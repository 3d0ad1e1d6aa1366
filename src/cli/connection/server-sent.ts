import type { StoredEvent } from '../../domain/event.ts'

/** Reads stored events from a server-sent stream; comments (heartbeats) are skipped. Ends quietly when aborted or cut. */
export async function* serverSentEvents(
  stream: AsyncIterable<Buffer | string>,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent> {
  const decoder = new TextDecoder()
  let pending = ''
  try {
    for await (const chunk of stream) {
      pending += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
      const blocks = pending.split('\n\n')
      pending = blocks.pop() ?? ''
      for (const block of blocks) {
        const data = dataOf(block)
        if (data) yield JSON.parse(data) as StoredEvent
      }
    }
  } catch (error) {
    // A daemon that dies cuts the stream; whoever follows looks at the session next.
    if (!signal.aborted && (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
  }
}

function dataOf(block: string): string {
  return block
    .split('\n')
    .filter(line => line.startsWith('data:'))
    .map(line => line.slice(5).trimStart())
    .join('\n')
}
