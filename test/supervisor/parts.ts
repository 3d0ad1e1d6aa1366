import { openGates } from '../../src/agents/limits/gates.ts'
import { openQuota } from '../../src/agents/quota/quota.ts'
import { systemClock } from '../../src/base/clock.ts'
import { nestValues, standardValues } from '../../src/domain/config/config.ts'
import { Terminals } from '../../src/human/terminals.ts'
import { openClassifier } from '../../src/policy/classify/classify.ts'
import { loadRules } from '../../src/policy/rules/load.ts'
import type { Store } from '../../src/store/store.ts'
import { GuardWatch } from '../../src/supervisor/guards/watch/watch.ts'
import type { Parts, Run } from '../../src/supervisor/run.ts'
import { Accounts } from '../../src/supervisor/waits/accounts.ts'
import { Starts } from '../../src/supervisor/waits/starts.ts'
import { openTasks } from '../../src/tasks/open.ts'

/** Every part of the supervisor, real, over this store. */
export function partsOn(store: Store, more: Partial<Parts> & { live?: Run[] } = {}): Parts {
  const { live = [], ...changed } = more
  const clock = changed.clock ?? systemClock
  const gates = openGates({ store, clock })
  const quota = openQuota({ store, clock, settings: async () => nestValues(standardValues()).quota })
  return {
    store,
    clock,
    terminals: new Terminals(),
    policy: { classify: question => openClassifier().classify(question), loadRules },
    tasks: openTasks({ store, clock }),
    accounts: new Accounts({ store, clock, gates, quota, live: () => live, changed: () => undefined }),
    watch: new GuardWatch(clock),
    checkpoints: '/nowhere/checkpoints',
    notesLock: '/nowhere/notes.lock',
    starts: new Starts(),
    ...changed,
  }
}
