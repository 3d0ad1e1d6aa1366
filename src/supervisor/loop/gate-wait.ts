import { nextAllowed } from '../../agents/limits/consent.ts'
import type { Admission } from '../../agents/limits/gates.ts'
import type { Limit } from '../../domain/account/limit.ts'
import type { Desk, Ending } from '../run.ts'
import { limited } from './endings.ts'

/** Long enough that a gate which opened in this very moment is not knocked at by everybody at once. */
const SOON_MS = 1_000

interface AtGate extends Desk {
  /** The limit that this session met itself. */
  limit?: Limit | undefined
  /** Its task was completed before it had to wait. */
  text?: string | undefined
}

/** The ending of a session whose account is shut: it waits, and goes on by itself where a person agreed to that. */
export async function waitAtGate(admission: Admission, { run, parts, limit, text }: AtGate): Promise<Ending> {
  const now = parts.clock.now()
  if (admission.open) return limited('the limit is over', { resumesAt: now + SOON_MS, limit, text }, run)
  const { gate } = admission
  if (admission.why === 'held') {
    // Its time has come as soon as the person lets go; the waker leaves it alone until then.
    const resumesAt = nextAllowed(Math.max(now, gate.closed_until ?? 0), run.consent)
    const message = `held by ${gate.held_by ?? 'a person'}; let it go with: pcc quota release`
    return { ...limited(message, { resumesAt, limit, text }, run), held: true }
  }
  const resumesAt = await parts.accounts.resumesAt(run, gate)
  return limited(limit?.message ?? gate.reason ?? 'the account is limited', { resumesAt, limit, text }, run)
}

/** The ending of a session that has more to do, on an account whose allowance is nearly used up. */
export async function waitForQuota(text: string, { run, parts }: Desk): Promise<Ending> {
  const { easesAt } = await parts.accounts.level(run)
  const resumesAt = easesAt === undefined ? parts.clock.now() + LOOK_AGAIN_MS : easesAt + SOON_MS
  return limited('the allowance is nearly used up, so no new task is begun', { resumesAt, text }, run)
}

/** Where nobody tells when a window is fresh again. */
const LOOK_AGAIN_MS = 10 * 60_000
