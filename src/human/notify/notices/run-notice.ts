import { basename } from 'node:path'
import type { EventOf } from '../../../domain/event.ts'
import type { RunTarget } from '../../../domain/runs/run.ts'
import type { RunOutcome } from '../../../domain/runs/run-outcome.ts'
import type { Store } from '../../../store/store.ts'
import type { Notice, NoticeKind } from '../notice.ts'

/** What an ending is worth telling. A person who interrupted a run, or ran nothing, knows. */
const TOLD: Record<RunOutcome, { kind: NoticeKind; words: string } | undefined> = {
  complete: { kind: 'complete', words: 'is complete' },
  failure: { kind: 'error', words: 'failed' },
  blocked: { kind: 'error', words: 'is blocked' },
  limit_reached: { kind: 'error', words: 'was stopped by its limit' },
  no_plan: undefined,
  interrupted: undefined,
}

/** What the end of a run is worth telling. */
export async function runNotice(
  { id, subject, body }: EventOf<'run.ended'>,
  { store }: { store: Pick<Store, 'runs'> },
): Promise<Notice[]> {
  const told = TOLD[body.outcome]
  const run = told && (await store.runs.get(subject))
  if (!run) return []
  const { done = 0, failed = 0, ...open } = body.tasks ?? {}
  const left = Object.entries(open).reduce((sum, [state, count]) => sum + (state === 'cancelled' ? 0 : count), 0)
  const unverified = body.unverified ? ` (${body.unverified === done ? '' : `${body.unverified} `}unverified)` : ''
  const counts = [
    `${done} done${unverified}`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(left > 0 ? [`${left} left`] : []),
  ]
  return [
    {
      kind: told.kind,
      key: `run:${id}`,
      title: `The run of ${whatOf(run.target)} in ${basename(run.project)} ${told.words}`,
      text: `${body.reason}\n${counts.join(', ')}`,
    },
  ]
}

function whatOf(target: RunTarget): string {
  if (target.kind === 'project') return 'everything'
  return target.kind === 'feature' ? target.name : target.id
}
