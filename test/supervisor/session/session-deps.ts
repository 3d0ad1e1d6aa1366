import { openAccountGates } from '../../../src/agents/limits/account-gates.ts'
import { openQuota } from '../../../src/agents/limits/quota.ts'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import { AttachedTerminals } from '../../../src/human/terminals.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { loadRules } from '../../../src/policy/verdict/load-rules.ts'
import type { Store } from '../../../src/store/store.ts'
import { GuardWatch } from '../../../src/supervisor/guards/watch.ts'
import { startCodeSearch } from '../../../src/supervisor/knowledge/code-search.ts'
import { Accounts } from '../../../src/supervisor/limits/accounts.ts'
import { StartBarrier } from '../../../src/supervisor/limits/start-barrier.ts'
import { openSupervisorMemory } from '../../../src/supervisor/memory/supervisor-memory.ts'
import type { LiveSession, SessionDeps } from '../../../src/supervisor/session/context.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'

import { NOT_LEARNING } from '../../support/world.ts'

/** The real parts of the supervisor over this store. */
export function sessionDepsOn(store: Store, more: Partial<SessionDeps> & { live?: LiveSession[] } = {}): SessionDeps {
  const { live = [], ...replaced } = more
  const clock = replaced.clock ?? systemClock
  const gates = openAccountGates({ store, clock })
  const quota = openQuota({ store, clock, settings: async () => nestValues(defaultValues()).quota })
  return {
    store,
    clock,
    terminals: new AttachedTerminals(),
    policy: { classify: question => openClassifier().classify(question), loadRules },
    tasks: openTasks({ store, clock }),
    accounts: new Accounts({ store, clock, gates, quota, live: () => live, changed: () => undefined }),
    watch: new GuardWatch(clock),
    checkpoints: '/nowhere/checkpoints',
    notesLock: '/nowhere/notes.lock',
    starts: new StartBarrier(),
    keepProcess: async () => false,
    endKept: async () => undefined,
    briefOf: async ({ description }) => description,
    code: startCodeSearch({ data: '/nowhere' }),
    memory: openSupervisorMemory({
      paths: appPathsFor({ env: { HOME: '/nowhere' } }),
      env: NOT_LEARNING,
      store,
      log: silentLog,
    }),
    ...replaced,
  }
}
