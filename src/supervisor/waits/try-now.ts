import type { Gates } from '../../agents/limits/gates.ts'
import { trialTimes } from '../../agents/limits/resume-times.ts'
import type { QuotaBook } from '../../agents/quota/quota.ts'
import type { Clock } from '../../base/clock.ts'
import { EVERY_ACCOUNT } from '../../domain/account/limit.ts'
import type { TriedAccount } from '../../domain/account/quota.ts'
import type { Store, Tx } from '../../store/store.ts'

export interface Trial extends TriedAccount {
  /** A limit had closed it; otherwise its allowance was at most told to be used up. */
  wasClosed: boolean
}

interface TrialParts {
  store: Store
  clock: Clock
  gates: Gates
  quota: Pick<QuotaBook, 'outdate'>
}

/**
 * Opens an account that a limit has closed, or all of them, takes what the vendor told of its windows for past, and gives its
 * sessions times from now on: one at once, the others so much later that a refusal closes the account again before they
 * knock.
 */
export async function tryNow(account: string, parts: TrialParts): Promise<Trial[]> {
  const known = account === EVERY_ACCOUNT ? (await parts.store.quota.accounts()).map(each => each.account) : [account]
  return parts.store.transaction(async tx => {
    const trials: Trial[] = []
    for (const each of known) trials.push(await tryOne(each, parts, tx))
    return trials
  })
}

async function tryOne(account: string, { store, clock, gates, quota }: TrialParts, tx: Tx): Promise<Trial> {
  const wasClosed = await gates.openForTrial(account, tx)
  await quota.outdate(account, tx)
  const now = clock.now()
  const waiting = (await store.sessions.waiting(tx)).filter(row => row.account === account)
  // One that a person holds goes on when they let it go, and is not the one that tries.
  const free = waiting.filter(({ held_at }) => held_at === null)
  const times = trialTimes(now, free, Math.random)
  for (const { id } of waiting) await store.sessions.update(id, { resumes_at: times.get(id) ?? now }, tx)
  const sessions = [...times.keys()]
  await tx.append(
    sessions.map((subject, place) => ({ actor: 'human', subject, kind: 'session.noted', body: { text: told(place) } })),
  )
  return { account, wasClosed, sessions }
}

function told(place: number): string {
  const when = place === 0 ? 'goes on at once, to try it' : 'goes on when another one has tried it'
  return `A person takes the limit for over (pcc quota release --now): this session ${when}.`
}
