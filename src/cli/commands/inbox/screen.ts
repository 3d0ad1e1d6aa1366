import { messageOf } from '../../../base/errors.ts'
import type { EscalationView, NeedsReply, TaskAfterAnswer } from '../../../domain/escalation.ts'
import type { EventKind } from '../../../domain/event.ts'
import { openClient } from '../../connection/client.ts'
import type { DaemonConnection } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { pollOnEvents } from '../../live/follow.ts'
import { loadInk } from '../../live/terminal.ts'
import { shownRows } from '../../render/escalation-lines.ts'
import { thingsWait } from '../../render/list-table.ts'
import { resumeEnvironment } from '../../session-env.ts'
import { answeredLines, asTyped, readMemoryDays } from '../respond-lines.ts'
import { type InboxReply, openInboxStore } from './keys.ts'
import { type InboxContents, readQuestions } from './state.ts'

/** Shows the inbox on this terminal until the person leaves it. The previous screen is restored then. */
export async function runInbox(context: CommandContext): Promise<void> {
  const client = await openClient(context.paths, context)
  const ink = await loadInk()
  const [{ createElement }, { InboxView }] = await Promise.all([import('react'), import('./view.ts')])
  const left = new AbortController()
  const store = openInboxStore({
    send: (row, reply) => deliver(client, context, { row, reply }),
    leave: () => app.unmount(),
  })
  const app = ink.render(createElement(InboxView, { ink, store, env: context.env }), {
    alternateScreen: true,
    interactive: true,
  })
  const feeding = followInbox({
    client,
    signal: left.signal,
    show: store.show,
    lost: store.lost,
  })
  try {
    await app.waitUntilExit()
  } finally {
    left.abort()
    await feeding
  }
  const { rows, loaded } = store.inbox()
  const waiting = rows.filter(({ isRefused }) => !isRefused)
  if (loaded) context.out(waiting.length === 0 ? 'Nothing waits for you.' : thingsWait(waiting.length))
}

interface AnswerReply {
  escalation: EscalationView
  remembered: boolean
  task?: TaskAfterAnswer
}

/** Sends an answer and returns the first and the last line that `pcc respond` would print for it. */
async function deliver(
  client: DaemonConnection,
  { paths, env }: CommandContext,
  { row, reply }: { row: EscalationView; reply: InboxReply },
): Promise<string> {
  const wasOpen = row.state === 'open'
  // A parked session goes on in the environment of this shell, as it would from `pcc attach`.
  const { again, ...answer } = reply
  const ownEnv = wasOpen || again ? { env: await resumeEnvironment({ paths, env, project: row.project }) } : {}
  const body = { ...asTyped(answer, readQuestions(row)), ...(again && { again }), ...ownEnv }
  const answered = await client.request<AnswerReply>('POST', `/escalations/${row.number}/answer`, body)
  const days = await readMemoryDays(row.project, { paths, env })
  const lines = answeredLines({ ...answered, wasOpen, days }, Number.POSITIVE_INFINITY)
  return `${lines[0]}. ${lines.at(-1)?.trim()}`
}

export interface InboxFeed {
  client: DaemonConnection
  signal: AbortSignal
  show(contents: InboxContents): void
  /** Called when the daemon does not answer; it is asked again. */
  lost(problem: string): void
}

const INBOX_EVENTS: ReadonlySet<EventKind> = new Set([
  'permission.asked',
  'permission.parked',
  'permission.decided',
  'question.asked',
  'question.parked',
  'question.answered',
  'escalation.answered',
  'session.resumed',
  'session.ended',
])

/** Shows what waits for a person as it changes, until the signal aborts. It survives a restart of the daemon. */
async function followInbox({ client, signal, show, lost }: InboxFeed): Promise<void> {
  const poll = async () => {
    const as_of = Date.now()
    try {
      const { waiting, refused } = shownRows(await client.request<NeedsReply>('GET', '/needs'))
      if (!signal.aborted) show({ rows: [...waiting, ...refused], as_of })
      return 'seen'
    } catch (error) {
      if (!signal.aborted) lost(messageOf(error))
      return 'missed'
    }
  }
  // Polled in between too: the ages of rows change, and a refused request has no event of its own.
  await pollOnEvents({
    client,
    signal,
    isTelling: ({ kind }) => INBOX_EVENTS.has(kind),
    everyMs: 2_000,
    apartMs: 150,
    look: poll,
  })
}
