import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openScreen } from '../../live/screen.ts'

const EVERY_MS = 1_000

export interface WatchPending {
  /** The page as it is now. */
  page(): Promise<string[]>
  json: boolean
  out(line: string): void
}

/** Shows what waits until Ctrl+C, in place on a terminal; elsewhere it is printed again when it says something else. */
export async function watchPending({ page, json, out }: WatchPending): Promise<void> {
  const leave = new AbortController()
  const interrupted = once(process, 'SIGINT', { signal: leave.signal }).then(
    () => leave.abort(),
    () => undefined, // left another way
  )
  const screen = openScreen(process.stdout)
  let last = ''
  try {
    while (!leave.signal.aborted) {
      const lines = await page()
      const shown = lines.join('\n')
      if (shown !== last && json) out(shown)
      else if (shown !== last && process.stdout.isTTY) screen.pin(lines)
      else if (shown !== last) screen.print([...(last === '' ? [] : ['']), ...lines])
      last = shown
      await sleep(EVERY_MS, undefined, { signal: leave.signal }).catch(() => undefined) // Ctrl+C ends the wait
    }
  } finally {
    leave.abort()
    await interrupted
  }
}
