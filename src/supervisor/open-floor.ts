import type { Log } from '../base/log.ts'
import { notesLock } from '../knowledge/notes/read-notes.ts'
import type { SessionRow } from '../store/tables.ts'
import { openTasks } from '../tasks/open.ts'
import { Admission } from './admission.ts'
import { handedOn } from './failover/handed-on.ts'
import { type Floor, prepareFor } from './floor.ts'
import { stopUnwatched } from './guards/unwatched.ts'
import { GuardWatch } from './guards/watch/watch.ts'
import { LiveSessions } from './live-sessions.ts'
import { checkpointsIn } from './loop/checkpoints.ts'
import { openGround } from './place/open-ground.ts'
import type { Parts } from './run.ts'
import { HeldConversations } from './start/held-conversations.ts'
import type { PrepareParts } from './start/preparation.ts'
import { type AccountParts, Accounts } from './waits/accounts.ts'
import { KeptEnvironments } from './waits/kept-environments.ts'
import { Starts } from './waits/starts.ts'
import { WarmMarkers } from './warm/warm-markers.ts'
import { WarmNext } from './warm/warm-next.ts'

/** What a supervisor is made of. */
export interface SupervisorOptions
  extends Omit<Parts, 'tasks' | 'accounts' | 'watch' | 'checkpoints' | 'notesLock' | 'starts'>,
    PrepareParts,
    Pick<AccountParts, 'quota' | 'gates'> {
  /** This boot of the daemon: the owner of every session it runs. */
  bootId: string
  log: Log
  /** What an agent is started with where nothing else is known: the daemon's own. */
  agentEnv: Record<string, string>
  /** Why nothing may start now (the disk is full), if so. */
  mayStart?: (() => string | undefined) | undefined
  /** Bytes that programs can still get, as the system has it where nothing else is said. */
  availableMemory?: (() => number) | undefined
}

/** What a supervisor stands on, and the parts of it that it steers by itself. */
export interface OpenFloor {
  floor: Floor
  admission: Admission
  accounts: Accounts
  watch: GuardWatch
}

/** Builds what sessions are started and resumed with. `settled` hears of every session whose end is written down. */
export function openFloor(
  options: SupervisorOptions,
  { closing, settled, launched }: { closing: AbortSignal; settled(row: SessionRow): void; launched(): void },
): OpenFloor {
  const { store, clock, log, places, terminals, policy, quota, gates, bootId } = options
  const admission = new Admission()
  const accounts = new Accounts({
    ...{ store, clock, quota, gates },
    live: () => floor.live.runs(),
    changed: () => admission.look(),
  })
  const watch = new GuardWatch(clock)
  const shared = { store, clock, terminals, policy, tasks: openTasks({ store, clock }), accounts, watch }
  const own = { checkpoints: checkpointsIn(places.data), notesLock: notesLock(places), starts: new Starts() }
  const parts: Parts = { ...shared, ...own }
  const kept = new KeptEnvironments(places.run)
  const live = new LiveSessions({
    ...{ parts, admission, kept, log, closing, settled, launched },
    handOver: (ending, run, ready) => handedOn(ending, run, ready, floor),
  })
  const warm = new WarmNext({
    markers: new WarmMarkers(places.run),
    log,
    live: id => live.get(id)?.run,
    prepare: request => prepareFor(request, floor),
    isCrowded: () => admission.waiting > 0,
    availableMemory: options.availableMemory ?? (() => process.availableMemory()),
  })
  terminals.onLeft(id => stopUnwatched(live.get(id)?.run))
  const conversations = new HeldConversations()
  const ground = openGround({ ...options, store, clock, log })
  const floor: Floor = { parts, prepareParts: options, bootId, log, live, kept, warm, ground, closing, conversations }
  return { floor, admission, accounts, watch }
}
