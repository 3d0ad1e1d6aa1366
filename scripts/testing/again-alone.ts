import { type GroupOutcome, runGroup } from './run-group.ts'
import { isGreen, tell, tellUnsteady } from './told.ts'

/** More than these are no accident of a busy machine. */
const MOST = 3

interface Again {
  flags: string[]
  signal: AbortSignal
  tell(text: string): void
}

/**
 * What failed beside others runs once more with the machine to itself. Passing then does not make it steady: it is told as such
 * at the end, with the failure in full above. What left processes running gets no second chance, nor does a run with many failures.
 */
export async function againAlone(
  outcomes: GroupOutcome[],
  { flags, signal, tell: say }: Again,
): Promise<GroupOutcome[]> {
  const red = outcomes.filter(outcome => !isGreen(outcome))
  if (red.length === 0 || red.length > MOST || red.some(({ left }) => left.length > 0)) return outcomes
  const last = new Map<GroupOutcome, GroupOutcome>()
  for (const before of red) {
    if (signal.aborted) return outcomes
    const outcome = await runGroup(before.group, flags, signal)
    say(tell(outcome))
    if (isGreen(outcome)) last.set(before, outcome)
  }
  for (const { group } of last.keys()) say(tellUnsteady(group.name))
  return outcomes.map(outcome => last.get(outcome) ?? outcome)
}
