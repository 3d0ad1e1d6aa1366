import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { entryUrl } from '../../base/program.ts'
import type { Assessment, Reason } from '../../domain/assessment.ts'
import {
  createFence,
  type Fence,
  type FenceData,
  isInside,
  resolveRealPath,
  type WorktreeFence,
} from '../paths/fence.ts'
import { mayBeSlow } from '../shell/parse.ts'
import { assessCommand, assessTool, refuseCommand } from './assess.ts'
import { readToolUse } from './tool-use.ts'

/** A request as the policy looks at it. */
export interface ClassifyRequest {
  tool: string
  input: unknown
  /** Real path of the project. */
  project: string
  home: string
  /** Where relative paths begin; the project when left out. */
  cwd?: string
  /** The task's own worktree: with one, it is the boundary instead of a project that lies elsewhere. */
  worktree?: WorktreeFence | undefined
  safeDirectories?: readonly string[]
  /** Names of the MCP servers that we started. */
  ownServers?: readonly string[]
}

export interface Classifier extends Disposable {
  /** At once for what is small; later for a long command, which is read in a worker with a deadline. */
  classify(question: ClassifyRequest): Assessment | Promise<Assessment>
}

interface ClassifierOptions {
  /** Follows paths in place of the disk. It cannot cross to the worker: with it, everything is read here and at once. */
  realPath?: Fence['realPath']
  deadlineMs?: number
}

const SAFE_DIRECTORIES = ['src/', 'tests/', 'lib/', 'app/', 'packages/']

/** A classifier with its own worker. It keeps nothing alive and remembers nothing between requests. */
export function openClassifier({ realPath, deadlineMs }: ClassifierOptions = {}): Classifier {
  const lane = openAssessWorker(deadlineMs === undefined ? {} : { deadlineMs })
  return {
    classify(question) {
      const { worktree, home, safeDirectories: safe = SAFE_DIRECTORIES } = question
      // A project that is one folder of its repository is the same folder of the worktree.
      const boundary = worktree && !isInside(question.project, worktree.top) ? worktree.top : question.project
      const data: FenceData = { boundary, home, safe, worktree }
      const cwd = question.cwd ?? boundary
      const around = { cwd, fence: createFence(data, realPath ?? resolveRealPath) }
      const use = readToolUse(question.tool, question.input)
      if (use.does !== 'command')
        return assessTool(use, { tool: question.tool, ownServers: question.ownServers ?? [] }, around)
      const { command, unfenced } = use
      if (realPath !== undefined || !mayBeSlow(command)) return fenced(assessCommand(command, around), unfenced)
      return lane.assess({ command, cwd, fence: data }).then(assessment => fenced(assessment, unfenced))
    },
    [Symbol.dispose]: () => lane[Symbol.dispose](),
  }
}

/** A person put a sandbox below the gate: a call that asks to leave it is for a person to allow, whatever it runs. */
function fenced(assessment: Assessment, unfenced: boolean): Assessment {
  if (!unfenced || assessment.risk === 'HIGH') return assessment
  const leaves: Reason = { code: 'sandbox.off', risk: 'MEDIUM', text: 'it asks to run outside of the sandbox' }
  const normalised = `${assessment.normalised} (outside of the sandbox)`
  return { ...assessment, risk: 'MEDIUM', reasons: [leaves, ...assessment.reasons], normalised }
}

/** One request, with a classifier for it alone. */
export function classify(question: ClassifyRequest, options: ClassifierOptions = {}): Assessment | Promise<Assessment> {
  const classifier = openClassifier(options)
  const assessment = classifier.classify(question)
  if (!(assessment instanceof Promise)) return assessment
  return assessment.finally(() => classifier[Symbol.dispose]())
}

/** From asking to answering, the start of the worker not included: hostile input ends here. */
const DEADLINE_MS = 80
/** A worker that does not even start is a broken installation; nobody may wait for it for ever. */
const START_MS = 10_000

export interface AssessJob {
  command: string
  cwd: string
  fence: FenceData
}

/** Assesses commands that may take long, apart from the event loop and with a deadline that ends in HIGH. */
export interface AssessWorker extends Disposable {
  assess(job: AssessJob): Promise<Assessment>
}

/** The worker starts with the first command that needs it and then stays, without keeping the process alive. */
function openAssessWorker({ deadlineMs = DEADLINE_MS } = {}): AssessWorker {
  let worker: Promise<Worker> | undefined
  let queue: Promise<unknown> = Promise.resolve()

  const assess = async (job: AssessJob): Promise<Assessment> => {
    try {
      worker ??= startWorker()
      return await askWorker(await worker, job, deadlineMs)
    } catch {
      // Too slow, out of memory or gone: all the same here, for what could not be assessed is refused.
      const ended = worker
      worker = undefined
      ended?.then(one => one.terminate()).catch(() => undefined)
      return refuseCommand(job.command, 'it could not be read in time')
    }
  }

  return {
    assess(job) {
      const assessment = queue.then(() => assess(job))
      queue = assessment
      return assessment
    },
    [Symbol.dispose]() {
      worker?.then(one => one.terminate()).catch(() => undefined)
      worker = undefined
    },
  }
}

/** The worker runs from source as `.ts` and from the published package as `.js`, whichever this file is. */
async function startWorker(): Promise<Worker> {
  const worker = new Worker(entryUrl('policy/classify/assess-worker'), {
    resourceLimits: { maxOldGenerationSizeMb: 128, stackSizeMb: 4 },
    env: {},
    execArgv: [],
  })
  // Warm: the first real command must not pay for loading and compiling.
  await askWorker(worker, { command: 'true', cwd: '/', fence: { boundary: '/', home: '/', safe: [] } }, START_MS)
  worker.unref()
  return worker
}

async function askWorker(worker: Worker, job: AssessJob, withinMs: number): Promise<Assessment> {
  const answer = once(worker, 'message', { signal: AbortSignal.timeout(withinMs) })
  worker.postMessage(job)
  const [assessment] = (await answer) as [Assessment]
  return assessment
}
