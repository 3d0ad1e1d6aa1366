import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { QuotaView } from '../../domain/account/quota.ts'
import type { Connection } from '../connection/connection.ts'
import type { Context } from '../context.ts'
import { openScreen } from '../live/screen.ts'
import { quotaPage } from './page.ts'

const EVERY_MS = 2_000

/** Shows the page in place until Ctrl+C; where nobody looks, it is printed again when it says something else. */
export async function watchQuota(client: Connection, { json, terminal, out }: Context): Promise<void> {
  const leave = new AbortController()
  const interrupted = once(process, 'SIGINT', { signal: leave.signal }).then(
    () => leave.abort(),
    () => undefined, // left another way
  )
  const screen = openScreen(process.stdout)
  let last = ''
  try {
    while (!leave.signal.aborted) {
      const view = await client.request<QuotaView>('GET', '/quota')
      const { at: _, ...state } = view
      const page = json ? JSON.stringify(state) : quotaPage(view, terminal).join('\n')
      if (page !== last && json) out(JSON.stringify(view))
      else if (page !== last && process.stdout.isTTY) screen.pin(page.split('\n'))
      else if (page !== last) screen.print([...(last === '' ? [] : ['']), ...page.split('\n')])
      last = page
      await sleep(EVERY_MS, undefined, { signal: leave.signal }).catch(() => undefined) // Ctrl+C ends the wait
    }
  } finally {
    leave.abort()
    await interrupted
  }
}
