import type { EscalationView } from '../../domain/escalation.ts'
import { openClient } from '../client.ts'
import { answeredLines } from '../commands/decide/answered-lines.ts'
import type { Connection } from '../connection/connection.ts'
import type { Context } from '../context.ts'
import type { Reply } from '../live/person.ts'
import { decisionsWait } from '../render/list-table.ts'
import { asTyped } from '../respond/as-typed.ts'
import { environmentToGoOn } from '../session-env.ts'
import { openDesk } from './desk.ts'
import { followInbox } from './feed.ts'
import { loadInk } from './load-ink.ts'
import { partsOf } from './parts.ts'

/** The inbox on this terminal, until the person leaves it. What was on the screen before is there again then. */
export async function runInbox(context: Context): Promise<void> {
  const client = await openClient(context.places, context)
  const ink = await loadInk()
  const [{ createElement }, { InboxView }] = await Promise.all([import('react'), import('./view.ts')])
  const over = new AbortController()
  const desk = openDesk({ send: (row, reply) => deliver(client, context, { row, reply }), leave: () => app.unmount() })
  const app = ink.render(createElement(InboxView, { ink, desk, env: context.env }), {
    alternateScreen: true,
    interactive: true,
  })
  const feeding = followInbox({
    client,
    signal: over.signal,
    show: desk.show,
    lost: desk.lost,
  })
  try {
    await app.waitUntilExit()
  } finally {
    over.abort()
    await feeding
  }
  const { rows, loaded } = desk.inbox()
  if (loaded) context.out(rows.length === 0 ? 'Nothing waits for you.' : decisionsWait(rows.length))
}

interface Answered {
  escalation: EscalationView
  remembered: boolean
}

/** Sends an answer; the first and the last line of what `pcc respond` would say tell what became of it. */
async function deliver(
  client: Connection,
  { places, env }: Context,
  { row, reply }: { row: EscalationView; reply: Reply },
): Promise<string> {
  const wasOpen = row.state === 'open'
  // A parked session goes on in the environment of this shell, as it would from `pcc attach`.
  const own = wasOpen ? { env: await environmentToGoOn({ places, env, project: row.project }) } : {}
  const body = { ...asTyped(reply, partsOf(row)), ...own }
  const answered = await client.request<Answered>('POST', `/escalations/${row.number}/answer`, body)
  const lines = answeredLines({ ...answered, wasOpen }, Number.POSITIVE_INFINITY)
  return `${lines[0]}. ${lines.at(-1)?.trim()}`
}
