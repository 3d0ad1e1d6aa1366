import type { TestGroup } from './groups.ts'
import { type GroupOutcome, runGroup } from './run-group.ts'
import { isGreen, tell, tellUnsteady } from './told.ts'

/** More failures than this are not caused by a busy machine. */
const MAX_FAILURES = 3

interface Again {
  flags: string[]
  signal: AbortSignal
  tell(text: string): void
}

/**
 * Runs failed groups once more, alone on the machine. A group that passes then is reported as unsteady at the end, with its
 * failure printed above. A group that left processes running gets no second chance, nor does a run with many failures.
 */
export async function againAlone(
  outcomes: GroupOutcome[],
  { flags, signal, tell: say }: Again,
): Promise<GroupOutcome[]> {
  const red = outcomes.filter(outcome => !isGreen(outcome))
  if (red.length === 0 || red.length > MAX_FAILURES || red.some(({ left }) => left.length > 0)) return outcomes
  const unsteady: string[] = []
  const last = new Map<GroupOutcome, GroupOutcome>()
  for (const before of red) {
    if (signal.aborted) return outcomes
    const group = failedOf(before)
    const outcome = await runGroup(group, flags, signal)
    say(tell(outcome))
    if (!isGreen(outcome)) continue
    last.set(before, { ...before, exit: outcome.exit, verdict: passedNow(before, outcome), isUnsteady: true })
    unsteady.push(group.name)
  }
  for (const name of unsteady) say(tellUnsteady(name))
  return outcomes.map(outcome => last.get(outcome) ?? outcome)
}

/** Those files of a group that failed; all of it where that is not known. */
function failedOf({ group, verdict }: GroupOutcome): TestGroup {
  const files = group.files.length > 1 ? group.files.filter(file => verdict?.failed.includes(file)) : []
  return files.length > 0 ? { ...group, name: files.join(', '), files } : group
}

/** Everything of the group, with what passed at the second time. */
function passedNow({ verdict: before }: GroupOutcome, { verdict: now }: GroupOutcome): GroupOutcome['verdict'] {
  return before ? { ...before, success: true, passed: before.tests - before.skipped - before.todo } : now
}
