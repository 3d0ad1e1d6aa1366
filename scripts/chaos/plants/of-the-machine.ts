import type { Plant } from './plant.ts'
import { asking, diesAt, quiet, with_ } from './rounds.ts'

/** Mistakes with processes, daemons, the store and notices. */
export const OF_THE_MACHINE: readonly Plant[] = [
  {
    id: 'nobody-ends-agents',
    hurts: 'agents and what they started go on after their daemon is gone',
    breaks: ['no-orphan'],
    patches: [
      {
        file: 'src/base/process/guardian.ts',
        symbol: 'startGuardian',
        find: 'PCC_GUARDIAN: GUARDIAN_SCRIPT',
        put: "PCC_GUARDIAN: 'cat'",
      },
      {
        file: 'src/base/process/guardian.ts',
        symbol: 'openGuard',
        find: 'known.set(isolation, probeNamespace(isolation))',
        put: 'known.set(isolation, undefined)',
      },
      {
        file: 'src/base/process/sweep.ts',
        symbol: 'sweep',
        find: 'const found = await find()',
        put: 'const found = (await find()).slice(0, 0)',
      },
    ],
    round: with_('kill-daemon'),
  },
  {
    id: 'guardian-asleep',
    hurts: 'agents live on until the next daemon starts and sweeps them',
    breaks: ['no-orphan'],
    patches: [
      {
        file: 'src/base/process/guardian.ts',
        symbol: 'startGuardian',
        find: 'PCC_GUARDIAN: GUARDIAN_SCRIPT',
        put: "PCC_GUARDIAN: 'cat'",
      },
      {
        file: 'src/base/process/guardian.ts',
        symbol: 'openGuard',
        find: 'known.set(isolation, probeNamespace(isolation))',
        put: 'known.set(isolation, undefined)',
      },
    ],
    round: with_('kill-daemon'),
  },
  {
    id: 'lock-taken-from-the-living',
    hurts: 'two daemons run on one store and take each other’s sessions away',
    breaks: ['one-writer', 'tool-once'],
    patches: [
      {
        file: 'src/daemon/lock.ts',
        symbol: 'take',
        find: 'if (found && (await isAlive({ pid: found.pid, startTime: found.start_time })))',
        put: 'if (found && found.pid === process.pid)',
      },
      {
        file: 'src/supervisor/session/record.ts',
        symbol: 'record',
        find: 'await refuseStale(live, tx)',
        put: 'void refuseStale',
      },
    ],
    round: with_('two-daemons'),
  },
  {
    id: 'dead-holder-keeps-the-lock',
    hurts: 'after a crash no daemon starts any more',
    breaks: ['no-surprise'],
    patches: [
      {
        file: 'src/daemon/lock.ts',
        symbol: 'take',
        find: 'if (found && (await isAlive({ pid: found.pid, startTime: found.start_time })))',
        put: 'if (found)',
      },
    ],
    round: with_('kill-daemon'),
  },
  {
    id: 'answer-replies-500',
    hurts: 'a person answers, the answer counts, and the command says that it failed',
    breaks: ['no-surprise'],
    patches: [
      {
        file: 'src/daemon/routes/escalations.ts',
        symbol: 'shown',
        find: 'const sessions = Map.groupBy(waiting, ({ number }) => number)',
        put: "if (escalations.some(({ state }) => state !== 'open')) throw new Error('it is not open any more')\n  const sessions = Map.groupBy(waiting, ({ number }) => number)",
      },
    ],
    round: asking(),
  },
  {
    id: 'journal-in-memory',
    hurts: 'a crash in the middle of a transaction leaves a damaged database',
    breaks: ['store-whole'],
    patches: [
      {
        file: 'src/store/sqlite.ts',
        symbol: 'switchToWriteAheadLog',
        find: "writer.run('pragma journal_mode = wal')",
        put: "writer.run('pragma journal_mode = memory')\n      writer.run('pragma cache_size = 1')",
      },
    ],
    round: diesAt('next-task.before-commit'),
  },
  {
    id: 'outbox-row-lost',
    hurts: 'nobody hears that the work is complete',
    breaks: ['told-once'],
    patches: [
      {
        file: 'src/human/notify/notifier.ts',
        symbol: 'take',
        find: 'for (const notice of wanted) {',
        put: 'for (const notice of wanted.slice(1)) {',
      },
    ],
    round: quiet,
  },
  {
    id: 'cursor-moved-before-the-row',
    hurts: 'a daemon dies between the two, and nobody ever hears of what happened',
    breaks: ['told-once'],
    patches: [
      {
        file: 'src/human/notify/notifier.ts',
        symbol: 'take',
        find: 'const isNew = await store.transaction(async tx => {',
        put: 'await store.outbox.moveCursor(CURSOR, event.id)\n  const isNew = await store.transaction(async tx => {',
      },
    ],
    round: diesAt('outbox.before-add'),
  },
  {
    id: 'message-sent-twice',
    hurts: 'every message arrives twice',
    breaks: ['told-once'],
    patches: [
      {
        file: 'src/human/notify/deliver.ts',
        symbol: 'send',
        find: 'const sent = await channel.send(message, signal)',
        put: 'await channel.send(message, signal)\n    const sent = await channel.send(message, signal)',
      },
    ],
    round: quiet,
  },
  {
    id: 'open-question-not-told',
    hurts: 'a question waits and nobody is told of it',
    breaks: ['told-once'],
    patches: [
      {
        file: 'src/human/notify/deliver.ts',
        symbol: 'stillOpen',
        find: "found?.state !== 'open'",
        put: "found?.state === 'open'",
      },
    ],
    round: asking(undefined, { lateMs: 500, restarts: 0 }),
  },
]
