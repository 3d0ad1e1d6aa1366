import { once } from 'node:events'
import { type OwnProcess, startOwnProcess } from '../../../base/process/own-process.ts'
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
 * Judges a change in its own process: the agent wrote the texts, and neither a parser or a regular expression that they make slow nor
 * their size may block the daemon. A thread could not be ended while the parser works, which is native code. A change that could not be
 * judged in time gives a blocking finding.
 */
export const judgeApart: JudgeDiff = async (job, limits = {}) => {
  const judge = startJudge()
  try {
    return await answerOf(judge, job, limits)
  } catch {
    return [UNREAD]
  } finally {
    judge.kill('SIGKILL')
  }
}

/**
 * Judges changes with a process that is kept for the next change, because starting it takes longer than most changes. One that had to
 * be killed is not used again, and while it is busy another change gets its own process. It ends when it was not used for a while.
 */
export function keepJudge({ keepMs = KEEP_MS } = {}): JudgeDiff {
  let kept: OwnProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let isBusy = false
  return async (job, limits = {}) => {
    if (isBusy) return judgeApart(job, limits)
    isBusy = true
    clearTimeout(idle)
    const judge = kept?.connected ? kept : startJudge()
    kept = undefined
    try {
      const findings = await answerOf(judge, job, limits)
      judge.channel?.unref()
      kept = judge
      idle = setTimeout(() => {
        kept?.kill('SIGKILL')
        kept = undefined
      }, keepMs).unref()
      return findings
    } catch {
      judge.kill('SIGKILL')
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
  judge: OwnProcess,
  job: JudgeJob,
  { signal, deadlineMs = DEADLINE_MS }: Limits,
): Promise<Finding[]> {
  const ended = new AbortController()
  const onEnd = () => ended.abort()
  judge.once('disconnect', onEnd)
  const late = AbortSignal.timeout(deadlineMs)
  const until = AbortSignal.any([late, ended.signal, ...(signal ? [signal] : [])])
  try {
    const answer = once(judge, 'message', { signal: until })
    judge.channel?.ref()
    judge.send(job, () => undefined) // one that ended is disconnected, and that is heard
    const [findings] = (await answer) as [Finding[]]
    return findings
  } finally {
    judge.off('disconnect', onEnd)
  }
}

interface Limits {
  signal?: AbortSignal | undefined
  deadlineMs?: number
}

function startJudge(): OwnProcess {
  const judge = startOwnProcess('workspace/verify/diff/judge-child', {
    flags: ['--max-old-space-size=1024', '--stack-size=3900'],
  })
  // A caller that waits for an answer hears that it is disconnected; otherwise it must not crash this process.
  judge.on('error', () => undefined)
  return judge
}
