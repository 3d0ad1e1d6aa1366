import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { entryUrl } from '../../../base/program.ts'
import type { Finding } from '../../../domain/evidence.ts'
import type { DiffChange, DiffSettings } from './change.ts'

export interface JudgeJob {
  change: DiffChange
  settings: DiffSettings
}

/** A large change takes a second; one that takes longer than this was written to do so. */
const DEADLINE_MS = 60_000
/** Longer than the pauses between the tasks of a run. */
const KEEP_MS = 60_000

/** Judges changes; a change that could not be judged in time gives a blocking finding. */
export type JudgeDiff = (job: JudgeJob, limits?: Limits) => Promise<Finding[]>

/**
 * Judges a change in its own thread: the agent wrote the texts, and neither a regular expression that they make slow nor their
 * size may block the daemon. A change that could not be judged in time gives a blocking finding.
 */
export const judgeApart: JudgeDiff = async (job, limits = {}) => {
  const worker = startWorker()
  try {
    return await answerOf(worker, job, limits)
  } catch {
    return [UNREAD]
  } finally {
    await worker.terminate()
  }
}

/**
 * Judges changes with a thread that is kept for the next change, because starting it takes longer than most changes. A thread that
 * had to be terminated is not used again, and while it is busy another change gets its own thread. It ends when it was not used for
 * a while.
 */
export function keepJudge({ keepMs = KEEP_MS } = {}): JudgeDiff {
  let kept: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let isBusy = false
  return async (job, limits = {}) => {
    if (isBusy) return judgeApart(job, limits)
    isBusy = true
    clearTimeout(idle)
    const worker = kept ?? startWorker()
    kept = undefined
    try {
      const findings = await answerOf(worker, job, limits)
      worker.unref()
      kept = worker
      idle = setTimeout(() => {
        void kept?.terminate()
        kept = undefined
      }, keepMs).unref()
      return findings
    } catch {
      await worker.terminate()
      return [UNREAD]
    } finally {
      isBusy = false
    }
  }
}

/** Too slow, out of memory or aborted: in all cases the change was not judged. */
const UNREAD: Finding = {
  code: 'diff.unread',
  weight: 'block',
  text: 'The change could not be checked in time: make it smaller.',
}

async function answerOf(
  worker: Worker,
  job: JudgeJob,
  { signal, deadlineMs = DEADLINE_MS }: Limits,
): Promise<Finding[]> {
  const late = AbortSignal.timeout(deadlineMs)
  const answer = once(worker, 'message', { signal: signal ? AbortSignal.any([signal, late]) : late })
  worker.ref()
  worker.postMessage(job)
  const [findings] = (await answer) as [Finding[]]
  return findings
}

interface Limits {
  signal?: AbortSignal | undefined
  deadlineMs?: number
}

/** The worker is `.ts` when run from source and `.js` in the published package, like this file. */
function startWorker(): Worker {
  const worker = new Worker(entryUrl('workspace/verify/diff/judge-worker'), {
    resourceLimits: { maxOldGenerationSizeMb: 1024, stackSizeMb: 4 },
    env: {},
    execArgv: [],
  })
  // A caller that waits for an answer gets the error; otherwise it must not crash the process.
  worker.on('error', () => undefined)
  return worker
}
