import type { Assessment } from '../../domain/assessment.ts'
import type { Fence } from '../paths/place.ts'
import { realPathOf } from '../paths/real-path.ts'
import { MAX_COMMAND } from '../shell/precheck.ts'
import { openReader, type Reader } from '../shell/reader.ts'
import { assessTool } from '../tools/assess-tool.ts'
import { useOf } from '../tools/tool-use.ts'
import { assessCommand } from './command.ts'

/** A request as the policy looks at it. */
export interface Question {
  tool: string
  input: unknown
  /** Real path of the project. */
  project: string
  home: string
  /** Where relative paths begin; the project when left out. */
  cwd?: string
  /** The task's own worktree: with one, it is the boundary instead of the project. */
  worktree?: string
  safeDirectories?: readonly string[]
  /** Names of the MCP servers that we started. */
  ownServers?: readonly string[]
}

export interface Classifier extends Disposable {
  /** At once for what is small; later for a long command, which is read in a worker with a deadline. */
  classify(question: Question): Assessment | Promise<Assessment>
}

interface Options {
  realPath?: Fence['realPath']
  deadlineMs?: number
}

const SAFE_DIRECTORIES = ['src/', 'tests/', 'lib/', 'app/', 'packages/']

/** A classifier with its own worker. It keeps nothing alive and remembers nothing between requests. */
export function openClassifier({ realPath = realPathOf, deadlineMs }: Options = {}): Classifier {
  const reader = openReader(deadlineMs === undefined ? {} : { deadlineMs })
  return {
    classify: question => assess(question, reader, realPath),
    [Symbol.dispose]: () => reader[Symbol.dispose](),
  }
}

/** One request, with a classifier for it alone. */
export function classify(question: Question, options: Options = {}): Assessment | Promise<Assessment> {
  const classifier = openClassifier(options)
  const assessment = classifier.classify(question)
  if (!(assessment instanceof Promise)) return assessment
  return assessment.finally(() => classifier[Symbol.dispose]())
}

function assess(question: Question, reader: Reader, realPath: Fence['realPath']): Assessment | Promise<Assessment> {
  const boundary = question.worktree ?? question.project
  const seen = new Map<string, string | undefined>()
  const fence: Fence = {
    boundary,
    home: question.home,
    safe: question.safeDirectories ?? SAFE_DIRECTORIES,
    // Within one request a path is followed once: rules ask for the same one several times.
    realPath: path => {
      if (!seen.has(path)) seen.set(path, realPath(path))
      return seen.get(path)
    },
  }
  const around = { fence, cwd: question.cwd ?? boundary }
  const use = useOf(question.tool, question.input)
  if (use.does !== 'command')
    return assessTool(use, { tool: question.tool, ownServers: question.ownServers ?? [] }, around)
  if (use.command.length > MAX_COMMAND) return assessCommand(use.command, undefined, around)
  const reading = reader.read(use.command)
  if (reading instanceof Promise) return reading.then(done => assessCommand(use.command, done, around))
  return assessCommand(use.command, reading, around)
}
