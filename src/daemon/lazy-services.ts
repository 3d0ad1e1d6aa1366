import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Assessment } from '../domain/assessment.ts'
import type { Brain } from '../domain/brain.ts'
import type { Config } from '../domain/config/settings.ts'
import type { Classifier, ClassifyRequest } from '../policy/classify/classify.ts'
import type { LoadedRules, LoadRulesOptions, RulesLoader } from '../policy/verdict/load-rules.ts'
import type { WatchdogOptions } from './watchdog/watchdog.ts'

/** The daemon's one classifier and its memory of the last good rules. */
export interface LazyPolicy extends Disposable {
  classify(question: ClassifyRequest): Promise<Assessment>
  loadRules(options: LoadRulesOptions): Promise<LoadedRules>
}

/** Made when first needed: a daemon without sessions need not hold them. The classifier's worker ends with the shelf. */
export function openLazyPolicy(): LazyPolicy {
  let classifier: Promise<Classifier> | undefined
  let rules: Promise<RulesLoader> | undefined
  return {
    async classify(question) {
      classifier ??= import('../policy/classify/classify.ts').then(({ openClassifier }) => openClassifier())
      return (await classifier).classify(question)
    },
    async loadRules(options) {
      rules ??= import('../policy/verdict/load-rules.ts').then(({ openRules }) => openRules())
      return (await rules).load(options)
    },
    [Symbol.dispose]() {
      classifier?.then(opened => opened[Symbol.dispose]()).catch(() => undefined)
    },
  }
}

/** As many settings as are in use at once; older ones are opened anew when they are needed. */
const KEPT = 8

/** Opens the language models that settings name, on use: their libraries are memory that most daemons never need. */
export interface LazyBrains {
  get(config: Config, env: Record<string, string | undefined>): Promise<Brain[]>
}

/**
 * Sessions with the same settings share their models, so that one that fails for all of them is noticed by all of them: the
 * circuit breaker counts for the model, not for the session.
 */
export function openLazyBrains(): LazyBrains {
  const open = new Map<string, Promise<Brain[]>>()
  return {
    async get(config, env) {
      if (config.brain.type === 'none' && config.brain.fallbacks.length === 0) return []
      const key = keyOf(config, env)
      const known = open.get(key) ?? import('../brain/open.ts').then(({ openBrains }) => openBrains(config, env))
      open.delete(key)
      open.set(key, known)
      for (const oldest of [...open.keys()].slice(0, -KEPT)) open.delete(oldest)
      return known
    },
  }
}

/** A hash, because settings and environment may hold keys. Of the environment only what says whose model it is. */
function keyOf({ brain, agents }: Config, env: Record<string, string | undefined>): string {
  const named = new Set(JSON.stringify(brain).match(/(?<="env:)\w+/g))
  const logins = Object.entries(env).filter(([name]) => named.has(name) || /^(ANTHROPIC|CLAUDE)_|^HOME$/.test(name))
  return createHash('sha256')
    .update(JSON.stringify([brain, agents, logins.sort()]))
    .digest('hex')
}

export interface LazyWatchdog extends AsyncDisposable {
  /** From now on there is something to lose. */
  begin(): void
}

/** A watchdog that begins with the first session: its thread costs 12 MB, which a daemon with nothing to do need not hold. */
export function openLazyWatchdog(watchdog: WatchdogOptions): LazyWatchdog {
  let started: Promise<Disposable> | undefined
  return {
    begin() {
      started ??= import('./watchdog/watchdog.ts').then(({ startWatchdog }) => startWatchdog(watchdog))
    },
    [Symbol.asyncDispose]: async () => (await started)?.[Symbol.dispose](),
  }
}

/** Rarely enough to cost nothing, often enough that a daemon whose work is over is small again soon. */
const LOOK_MS = 10_000
/** Less garbage than this is not worth a collection. */
const WORTH_IT = 1.15

export interface IdleCollection {
  isIdle(): boolean
  /** Given by tests. */
  everyMs?: number
  heap?(): number
  collect?(): void
}

/**
 * Gives back what work has left behind, once nobody works. V8 collects when it needs room and keeps the room for later: after
 * a thousand short tasks a daemon held 233 MB, and 141 once they were given back. While a session is at work nothing is done.
 */
export function collectWhenIdle(deps: IdleCollection): Disposable {
  const { isIdle, everyMs = LOOK_MS, heap = () => process.memoryUsage().heapTotal, collect = collector() } = deps
  let least = heap()
  const timer = setInterval(() => {
    if (!isIdle() || heap() < least * WORTH_IT) return
    collect()
    least = heap()
  }, everyMs).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/**
 * The collector of this process, without the flag that would show it to everybody. The last resort is the one that gives pages
 * back to the system; it took 36 ms for 170 MB.
 */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (how: { type: string; execution: string; flavor: string }) => void
  setFlagsFromString('--no-expose-gc')
  return () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
