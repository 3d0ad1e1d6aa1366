import { createHash } from 'node:crypto'
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Assessment } from '../domain/assessment.ts'
import type { Brain } from '../domain/brain.ts'
import { fillSecrets, namedSecrets, type SecretReader } from '../domain/config/secret-references.ts'
import type { Config } from '../domain/config/settings.ts'
import type { Classifier, ClassifyRequest } from '../policy/classify/classify.ts'
import type { LoadedRules, LoadRulesOptions, RulesLoader } from '../policy/verdict/load-rules.ts'
import type { WatchdogOptions } from './watchdog/watchdog.ts'

/** The daemon's one classifier and its memory of the last good rules. */
export interface LazyPolicy extends Disposable {
  classify(question: ClassifyRequest): Promise<Assessment>
  loadRules(options: LoadRulesOptions): Promise<LoadedRules>
}

/**
 * Loads both on first use, so that a daemon without sessions stays small. Disposing ends the classifier's worker. `own` are the
 * folders of this installation, which no agent reads unasked.
 */
export function openLazyPolicy(own?: readonly string[]): LazyPolicy {
  let classifier: Promise<Classifier> | undefined
  let rules: Promise<RulesLoader> | undefined
  return {
    async classify(question) {
      classifier ??= import('../policy/classify/classify.ts').then(({ openClassifier }) => openClassifier({ own }))
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

/** As many different settings as are in use at once; brains for older ones are opened again when needed. */
const MOST_OPEN = 8

/** Opens the language models that the settings name, on first use: most daemons never need the memory their libraries take. */
export interface LazyBrains {
  get(config: Config, env: Record<string, string | undefined>): Promise<Brain[]>
}

/**
 * Sessions with the same settings share their models, so that all of them notice when a model fails: the circuit breaker counts
 * per model, not per session. A model whose key is a stored secret is looked up for every question, so that a session that runs
 * for days uses the key that is stored now.
 */
export function openLazyBrains(secrets: SecretReader): LazyBrains {
  const open = new Map<string, Promise<Brain[]>>()
  const openFilled = async (config: Config, env: Record<string, string | undefined>) => {
    const filled = await fillSecrets(config, secrets)
    const key = hashSettings(filled, env)
    const brains = open.get(key) ?? import('../brain/open.ts').then(({ openBrains }) => openBrains(filled, env))
    open.delete(key)
    open.set(key, brains)
    for (const oldest of [...open.keys()].slice(0, -MOST_OPEN)) open.delete(oldest)
    return brains
  }
  return {
    async get(config, env) {
      if (config.brain.type === 'none' && config.brain.fallbacks.length === 0) return []
      const brains = await openFilled(config, env)
      if (namedSecrets({ brain: config.brain }).size === 0) return brains
      return brains.map((brain, index) => withCurrentKey(brain, async () => (await openFilled(config, env))[index]))
    },
  }
}

/** The same settings give the same number of brains in the same order. */
function withCurrentKey(first: Brain, current: () => Promise<Brain | undefined>): Brain {
  const now = async () => (await current()) ?? first
  return {
    name: first.name,
    answerQuestion: async (...call) => (await now()).answerQuestion(...call),
    evaluatePermission: async (...call) => (await now()).evaluatePermission(...call),
    summarize: async (...call) => (await now()).summarize(...call),
  }
}

/** A hash, because settings and environment may hold keys. Only variables that select the model's account count. */
function hashSettings({ brain, agents }: Config, env: Record<string, string | undefined>): string {
  const named = new Set(JSON.stringify(brain).match(/(?<="env:)\w+/g))
  const logins = Object.entries(env).filter(([name]) => named.has(name) || /^(ANTHROPIC|CLAUDE)_|^HOME$/.test(name))
  return createHash('sha256')
    .update(JSON.stringify([brain, agents, logins.sort()]))
    .digest('hex')
}

export interface LazyWatchdog extends AsyncDisposable {
  /** Starts watching, if that has not happened yet. */
  begin(): void
}

/** A watchdog that starts with the first session: its thread costs 12 MB, which an idle daemon does not need. */
export function openLazyWatchdog(watchdog: WatchdogOptions): LazyWatchdog {
  let started: Promise<Disposable> | undefined
  return {
    begin() {
      started ??= import('./watchdog/watchdog.ts').then(({ startWatchdog }) => startWatchdog(watchdog))
    },
    [Symbol.asyncDispose]: async () => (await started)?.[Symbol.dispose](),
  }
}

/** Rare enough to cost nothing, often enough that a daemon is small again soon after its work is over. */
const CHECK_EVERY_MS = 10_000
/** A heap that has grown by less than this factor is not worth a collection. */
const WORTHWHILE_GROWTH = 1.15

export interface IdleCollection {
  isIdle(): boolean
  /** Tests set these. */
  everyMs?: number
  heap?(): number
  collect?(): void
}

/**
 * Gives memory back to the system once no session is at work. V8 collects when it needs room and keeps the room for later: after
 * a thousand short tasks a daemon held 233 MB, and 141 MB after such a collection. Nothing happens while a session is at work.
 */
export function collectWhenIdle(deps: IdleCollection): Disposable {
  const {
    isIdle,
    everyMs = CHECK_EVERY_MS,
    heap = () => process.memoryUsage().heapTotal,
    collect = openCollector(),
  } = deps
  let smallest = heap()
  const timer = setInterval(() => {
    if (!isIdle() || heap() < smallest * WORTHWHILE_GROWTH) return
    collect()
    smallest = heap()
  }, everyMs).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/**
 * The garbage collector of this process, without a global `gc` for everybody. Only the `last-resort` flavor gives pages back to
 * the system; it took 36 ms for 170 MB.
 */
function openCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (how: { type: string; execution: string; flavor: string }) => void
  setFlagsFromString('--no-expose-gc')
  return () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** A young heap of this size collects a third as often as one of 1 MB, and what is short-lived is dead by then. */
const YOUNG_HEAP_BYTES = 8 * 1024 ** 2

/**
 * Lets the young heap grow from 2 MB to 8 MB when work begins. In a small one most of what a session needs for a moment survives until a
 * collection and is copied, which took a quarter of the daemon's processor time. An idle daemon keeps the small one. A limit
 * cannot be set while V8 runs, so its growth is switched off again.
 */
export function openYoungHeap(): { grow(): void } & Disposable {
  const bytes = () => getHeapSpaceStatistics().find(space => space.space_name === 'new_space')?.space_size ?? 0
  const setGrowth = (factor: number) => setFlagsFromString(`--semi-space-growth-factor=${factor}`)
  const observer = new PerformanceObserver(() => {
    if (bytes() < YOUNG_HEAP_BYTES) return
    setGrowth(1)
    observer.disconnect()
  })
  return {
    grow() {
      if (bytes() >= YOUNG_HEAP_BYTES) return
      observer.observe({ entryTypes: ['gc'] })
      setGrowth(2)
    },
    [Symbol.dispose]: () => observer.disconnect(),
  }
}
