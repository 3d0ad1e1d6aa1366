import { basename } from 'node:path'
import type { EventKind, StoredEvent } from '../../domain/event.ts'
import { type Need, type NeedKind, type Needs, nextLine } from '../../domain/needs.ts'
import type { NoticeKind } from '../../domain/option-values.ts'
import { decisionNotice, type NoticeDeps } from './build-notices.ts'
import { type Notice, toSafeLine, toSafeText } from './notice.ts'

/** Events after which something may wait for a person, or wait no more. */
const TELLING: ReadonlySet<EventKind> = new Set([
  ...(['session.ended', 'session.noted', 'session.resumed', 'task.waiting', 'task.failed', 'task.finished'] as const),
  ...(['task.readied', 'task.cancelled', 'task.merging', 'task.verified', 'merge.held_up', 'merge.landed'] as const),
  ...(['run.started', 'run.held_up', 'run.ended', 'feature.moved'] as const),
])

/** Whether what waits for a person may have changed. */
export function mayChangeNeeds({ kind, body }: StoredEvent): boolean {
  return TELLING.has(kind) || (kind === 'permission.decided' && 'verdict' in body && body.verdict === 'deny')
}

export interface NeedNotice {
  notice: Notice
  project: string | undefined
}

/** The beginning of the keys of notices about what is no open decision. */
export const NEED_KEYS = 'need:'

/** A notice for everything that waits for a person, and for every HIGH request that was refused. The outbox sends each once. */
export async function needNotices({ needs, refused }: Needs, deps: NoticeDeps): Promise<NeedNotice[]> {
  const rows = [...needs, ...refused.filter(({ risk }) => risk === 'HIGH')]
  const notices = await Promise.all(rows.map(need => noticeFor(need, deps)))
  return notices.flatMap((notice, at) => (notice ? [{ notice, project: rows[at]?.project ?? undefined }] : []))
}

async function noticeFor(need: Need, deps: NoticeDeps): Promise<Notice | undefined> {
  if (need.number === null || need.kind === 'refused') return plainNotice(need, deps)
  const escalation = await deps.store.escalations.get(need.number)
  if (escalation?.state !== 'open') return undefined
  const session = await deps.store.sessions.get(escalation.session_id)
  // What is asked at a terminal is sent elsewhere only when nobody answers there.
  return session?.state === 'asking' ? undefined : decisionNotice(escalation, session, deps)
}

function plainNotice({ key, kind, text, next, project, title, count }: Need, { hidden }: NoticeDeps): Notice {
  const where = project === null ? '' : ` · ${basename(project)}`
  const lines = [
    toSafeLine(text, 600, hidden),
    ...(title === null ? [] : [`Task: ${toSafeLine(title, 160, hidden)}`]),
    ...(count > 1 ? [kind === 'refused' ? `Asked ${count} times` : `${count} wait for it`] : []),
    toSafeLine(nextLine({ next }), 300, hidden),
  ]
  return {
    kind: KIND_OF_NEED[kind],
    key: `${NEED_KEYS}${key}`,
    title: toSafeLine(`${HEADINGS[kind]}${where}`, 120, hidden),
    text: toSafeText(lines.join('\n'), 900, hidden),
  }
}

const HEADINGS: Record<NeedKind, string> = {
  permission: 'Permission wanted',
  question: 'Question',
  review: 'Review wanted',
  refused: 'Refused, because nobody was there',
  merge: 'A merge waits for you',
  gate: 'Checks cannot run',
  login: 'A login is needed',
  credit: 'Credit is used up',
  vendor: 'The vendor does not answer',
  trust: 'Your agreement is needed',
  budget: 'A budget is spent',
  error: 'Failed',
  session: 'A session waits for you',
  run: 'A run waits for you',
  feature: 'A feature stands still',
  task: 'A failed task holds up others',
}

const KIND_OF_NEED: Record<NeedKind, NoticeKind> = {
  ...({
    permission: 'question',
    question: 'question',
    review: 'question',
    refused: 'question',
    trust: 'question',
  } as const),
  ...({ merge: 'error', gate: 'error', login: 'error', credit: 'error', vendor: 'error', budget: 'error' } as const),
  ...({ error: 'error', session: 'error', run: 'error', feature: 'error', task: 'error' } as const),
}
