import { unreachable } from '../../../base/errors.ts'
import type { VerificationResult } from '../../../domain/workspace/evidence.ts'
import type { Tx } from '../../../store/store.ts'
import type { Enqueued, LandingParts, LandingSettings } from '../parts.ts'
import type { Work } from '../work.ts'
import { askPerson, askReview, finish, refuse, sendBack } from './moves.ts'
import { afterVerification } from './next-step.ts'
import { failureLine, failureReport } from './report-text.ts'

/** What follows from a verification, in one transaction with its count. */
export async function followUp(
  work: Work,
  { settings, result }: { settings: LandingSettings; result: VerificationResult },
  parts: LandingParts,
  tx: Tx,
): Promise<void> {
  const { floor } = parts
  const { rounds, merge } = settings
  const { run, place, note } = work
  const judged = { rounds, review: merge.review, failed: note.failed, hasRun: run !== undefined }
  const step = afterVerification(result, { ...judged, merges: place !== undefined && merge.mode !== 'off' })
  switch (step.do) {
    case 'finish':
      return finish(work, { verification: step.verification, reason: keptOn(work) }, floor, tx)
    case 'enqueue':
    case 'ask_review':
      return queued(work, { settings, head: result.commit ?? '', review: step.do === 'ask_review' }, parts, tx)
    case 'send_back': {
      const times = { number: note.failed + 1, of: rounds }
      const reason = `${failureLine(result)}; sent back (${times.number} of ${times.of})`
      return sendBack(work, { cause: 'gates', reason, told: failureReport(result, times) }, floor, tx)
    }
    case 'try_anew':
    case 'fail':
      return refuse(work, `${failureLine(result)}, ${timesWords(note.failed + 1)}`, floor, tx)
    case 'escalate':
      return askPerson(work, brokenWords(result), floor, tx)
    default:
      return unreachable(step)
  }
}

/** Into the queue of its target, where a person has to look first at what is to be looked at. */
export async function queued(work: Work, how: Enqueued, parts: LandingParts, tx: Tx): Promise<void> {
  const { task } = work
  const reason = how.review ? `waits for your review: pcc review ${task.id}` : undefined
  await parts.floor.parts.tasks.transition(task.id, { to: 'merging', reason, attempt: task.attempt }, tx)
  const merge = await parts.merges.enqueue(work, how, tx)
  if (how.review) await askReview(work, merge.id, parts.floor, tx)
}

/** Work that is not merged stays where it is: who reads that it is done has to know where. */
function keptOn({ place, task }: Work): string | undefined {
  return place && `its work stands on ${place.branch} and is not merged, as the settings say: pcc diff ${task.id}`
}

function brokenWords({ checks, next_steps }: VerificationResult): string {
  const broken = checks.filter(({ status }) => status === 'broken')
  const told = broken.map(({ gate, command, output }) => {
    const last = output.trim().split('\n').slice(-3).join(' ').slice(0, 300)
    return `${gate}${command === null ? '' : ` (${command})`} could not run${last === '' ? '' : `: ${last}`}`
  })
  const what = told.length > 0 ? told.join('; ') : 'it could not be verified'
  return [what, ...next_steps].join('. ').slice(0, 900)
}

function timesWords(count: number): string {
  return count === 1 ? 'and it does not go back' : `${count} times in one conversation`
}
