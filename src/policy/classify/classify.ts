import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { isInside } from '../../base/is-inside.ts'
import { entryUrl } from '../../base/program.ts'
import type { Assessment, Reason } from '../../domain/assessment.ts'
import { createFence, type Fence, type FenceData, resolveRealPath, type WorktreeFence } from '../paths/fence.ts'
import { lookAtPath, measurePath, rememberFiles } from '../paths/look.ts'
import { mayBeSlow } from '../shell/parse.ts'
import { assessCommand, assessTool, refuseCommand } from './assess.ts'
import { addHashes } from './assessment-tree.ts'
import { judgeSecrets } from './known-secrets.ts'
import { readToolUse } from './tool-use.ts'

/** A request as the policy sees it. */
export interface ClassifyRequest {
  tool: string
  input: unknown
  /** Real path of the project. */
  project: string
  home: string
  /** The directory for relative paths; the boundary when left out. */
  cwd?: string
  /** The task's own worktree. If the project is not inside it, the worktree is the boundary instead of the project. */
  worktree?: WorktreeFence | undefined
  safeDirectories?: readonly string[]
  /** Names of the MCP servers that we started. */
  ownServers?: readonly string[]
  /** Values that no call may carry away: keys of the session, and those in the project's `.env` files. */
  secrets?: readonly string[]
}

export interface Classifier extends Disposable {
  /** Returns at once for a small request. A long command is read in a worker with a deadline. */
  classify(request: ClassifyRequest): Assessment | Promise<Assessment>
}

interface ClassifierOptions {
  /** Resolves paths instead of the disk. A function cannot cross to the worker, so with it everything is read here and at once. */
  realPath?: Fence['realPath']
  /** Reads files instead of the disk. With `realPath` alone, no file is read. */
  look?: Fence['look']
  own?: Fence['own']
  deadlineMs?: number
}

const SAFE_DIRECTORIES = ['src/', 'tests/', 'lib/', 'app/', 'packages/']

/** A classifier with its own worker. It keeps no process alive and remembers nothing between requests. */
export function openClassifier({ realPath, look, own, deadlineMs }: ClassifierOptions = {}): Classifier {
  const worker = openAssessWorker(deadlineMs === undefined ? {} : { deadlineMs })
  return {
    classify(request) {
      const { tool, input, secrets = [], ownServers = [] } = request
      const call = { input, use: readToolUse(tool, input), secrets, ownServers }
      const assessment = assess(request)
      return assessment instanceof Promise
        ? assessment.then(found => judgeSecrets(found, call))
        : judgeSecrets(assessment, call)
    },
    [Symbol.dispose]: () => worker[Symbol.dispose](),
  }

  function assess(request: ClassifyRequest): Assessment | Promise<Assessment> {
    const { worktree, home, safeDirectories: safe = SAFE_DIRECTORIES } = request
    // If the project is one folder of its repository, the boundary is the same folder of the worktree.
    const boundary = worktree && !isInside(request.project, worktree.top) ? worktree.top : request.project
    const data: FenceData = { boundary, home, safe, worktree, own }
    const cwd = request.cwd ?? boundary
    const use = readToolUse(request.tool, request.input)
    const disk = use.does === 'command' ? openSmallFiles() : { look: lookAtPath, hasLarge: () => false }
    const files = rememberFiles(disk.look, realPath ?? resolveRealPath)
    const fence = createFence(data, files.realPath, realPath || look ? look : files.look)
    const context = { cwd, fence }
    if (use.does !== 'command') {
      const identity = { tool: request.tool, ownServers: request.ownServers ?? [] }
      return addHashes(assessTool(use, identity, context), files.hashes)
    }
    const { command, unfenced } = use
    const job = { command, cwd, fence: data }
    if (realPath === undefined && mayBeSlow(command))
      return worker.assess(job).then(assessment => judgeSandbox(assessment, unfenced))
    const assessment = addHashes(judgeSandbox(assessCommand(command, context), unfenced), files.hashes)
    if (!disk.hasLarge()) return assessment
    if (assessment.risk === 'HIGH') return { ...assessment, hasUnread: true }
    // A larger file is read outside of the event loop.
    return worker
      .assess(job, FILES_MS)
      .then(read => (couldRead(read) ? judgeSandbox(read, unfenced) : addUnread(assessment)))
  }
}

/** Reads files that are small enough for the event loop, and notes whether there was a larger one. */
function openSmallFiles(): { look: NonNullable<Fence['look']>; hasLarge: () => boolean } {
  let large = false
  return {
    look: path => {
      // Settings are parsed as such, and only a line of them as a command. The index of git is searched for a name.
      const most = /\/(package\.json|config|\.gitignore|\.git\/index)$/.test(path) ? SMALL_SETTINGS : SMALL_FILE
      const found = measurePath(path, most)
      if (found === 'small') return lookAtPath(path, most)
      if (found === 'large') large = true
      return found === 'none' || found === 'large' ? undefined : { is: 'file', bytes: found.head }
    },
    hasLarge: () => large,
  }
}

/** A file of this size is parsed in well under the time for which an event loop may be blocked. */
const SMALL_FILE = 2048
const SMALL_SETTINGS = 65_536
/** How long the worker may take for a command that runs or unpacks files. */
const FILES_MS = 2_000

/** If the worker could not read the files in time, the command counts as it stands, and a person decides. */
function addUnread(assessment: Assessment): Assessment {
  const unread: Reason = {
    code: 'script.unread',
    risk: 'MEDIUM',
    text: 'a file that it runs or applies could not be read in time',
  }
  return { ...assessment, risk: 'MEDIUM', reasons: [unread, ...assessment.reasons] }
}

function couldRead({ reasons }: Assessment): boolean {
  return !reasons.some(({ code }) => code === 'policy.failed')
}

/** If a call asks to leave the sandbox, a person must allow that, whatever it runs: a person has put the sandbox there. */
function judgeSandbox(assessment: Assessment, unfenced: boolean): Assessment {
  if (!unfenced || assessment.risk === 'HIGH') return assessment
  const leaves: Reason = { code: 'sandbox.off', risk: 'MEDIUM', text: 'it asks to run outside of the sandbox' }
  const normalised = `${assessment.normalised} (outside of the sandbox)`
  return { ...assessment, risk: 'MEDIUM', reasons: [leaves, ...assessment.reasons], normalised }
}

/** Classifies one request with a classifier of its own. */
export function classify(request: ClassifyRequest, options: ClassifierOptions = {}): Assessment | Promise<Assessment> {
  const classifier = openClassifier(options)
  const assessment = classifier.classify(request)
  if (!(assessment instanceof Promise)) return assessment
  return assessment.finally(() => classifier[Symbol.dispose]())
}

/** From request to answer, without the start of the worker: hostile input is cut off after this time. */
const DEADLINE_MS = 80
/** A worker that does not even start means a broken installation; nobody may wait for it for ever. */
const START_MS = 10_000

export interface AssessJob {
  command: string
  cwd: string
  fence: FenceData
}

/** Assesses commands that may take long, outside of the event loop. A command that misses the deadline is HIGH. */
export interface AssessWorker extends Disposable {
  assess(job: AssessJob, withinMs?: number): Promise<Assessment>
}

/** The worker starts with the first command that needs it and then stays, without keeping the process alive. */
function openAssessWorker({ deadlineMs = DEADLINE_MS } = {}): AssessWorker {
  let worker: Promise<Worker> | undefined
  let queue: Promise<unknown> = Promise.resolve()

  const assess = async (job: AssessJob, withinMs: number): Promise<Assessment> => {
    try {
      worker ??= startWorker()
      return await askWorker(await worker, job, withinMs)
    } catch {
      // The worker was too slow, out of memory or gone. In every case a command that could not be assessed is refused.
      const failed = worker
      worker = undefined
      failed?.then(thread => thread.terminate()).catch(() => undefined)
      return refuseCommand(job.command, 'it could not be read in time')
    }
  }

  return {
    assess(job, withinMs = deadlineMs) {
      const assessment = queue.then(() => assess(job, withinMs))
      queue = assessment
      return assessment
    },
    [Symbol.dispose]() {
      worker?.then(thread => thread.terminate()).catch(() => undefined)
      worker = undefined
    },
  }
}

/** The worker has the same extension as this file: `.ts` from source, `.js` in the published package. */
async function startWorker(): Promise<Worker> {
  const worker = new Worker(entryUrl('policy/classify/assess-worker'), {
    resourceLimits: { maxOldGenerationSizeMb: 128, stackSizeMb: 4 },
    env: {},
    execArgv: [],
  })
  // Warms the worker up: the first real command must not pay for loading and compiling.
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
