import type { Assessment, Reason } from '../../domain/assessment.ts'
import { type FenceData, fenceFor } from '../paths/fence.ts'
import { type Fence, isInside, type WorktreeFence } from '../paths/place.ts'
import { realPathOf } from '../paths/real-path.ts'
import { mayBeSlow } from '../shell/precheck.ts'
import { assessTool } from '../tools/assess-tool.ts'
import { toolUseOf } from '../tools/tool-use.ts'
import { assessCommand } from './command.ts'
import { openSlowLane } from './worker/open-worker.ts'

/** A request as the policy looks at it. */
export interface Question {
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
  classify(question: Question): Assessment | Promise<Assessment>
}

interface Options {
  /** Follows paths in place of the disk. It cannot cross to the worker: with it, everything is read here and at once. */
  realPath?: Fence['realPath']
  deadlineMs?: number
}

const SAFE_DIRECTORIES = ['src/', 'tests/', 'lib/', 'app/', 'packages/']

/** A classifier with its own worker. It keeps nothing alive and remembers nothing between requests. */
export function openClassifier({ realPath, deadlineMs }: Options = {}): Classifier {
  const lane = openSlowLane(deadlineMs === undefined ? {} : { deadlineMs })
  return {
    classify(question) {
      const { worktree, home, safeDirectories: safe = SAFE_DIRECTORIES } = question
      // A project that is one folder of its repository is the same folder of the worktree.
      const boundary = worktree && !isInside(question.project, worktree.top) ? worktree.top : question.project
      const data: FenceData = { boundary, home, safe, worktree }
      const cwd = question.cwd ?? boundary
      const around = { cwd, fence: fenceFor(data, realPath ?? realPathOf) }
      const use = toolUseOf(question.tool, question.input)
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
export function classify(question: Question, options: Options = {}): Assessment | Promise<Assessment> {
  const classifier = openClassifier(options)
  const assessment = classifier.classify(question)
  if (!(assessment instanceof Promise)) return assessment
  return assessment.finally(() => classifier[Symbol.dispose]())
}
