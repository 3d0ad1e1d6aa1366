import type { Request, Risk, Verdict } from '../domain/session.ts'
import { allowedByRule } from './allowed-tools.ts'
import { commandRisk } from './command-risk.ts'
import { isTooWide, type Located, locate, type World } from './paths.ts'
import { globLooksSensitive, sensitivePart } from './sensitive.ts'
import { type ToolUse, useOf } from './tools.ts'

export interface PolicyContext {
  /** Real path of the project. */
  project: string
  home: string
  realPath: World['realPath']
  /** `permissions.auto_approve_low_risk`: off means that even a read inside the project is asked about. */
  autoApproveLow: boolean
  /** `--allowed-tools` of who started the session. */
  allowedTools?: readonly string[] | undefined
}

/**
 * May it? Reads and writes inside the project and the agent's own bookkeeping are allowed; everything else, and everything
 * not understood, is `ask`. Commands are not judged yet: each one is asked about.
 */
export function decide(request: Request, context: PolicyContext): Verdict {
  const found = judge(useOf(request.tool, request.input), request, context)
  if (found.risk === 'LOW' && context.autoApproveLow) return { ...found, verdict: 'allow', confidence: 1, by: 'policy' }
  const rule = allowedByRule(request, found.risk, context.allowedTools ?? [])
  if (rule !== undefined) {
    return { risk: found.risk, reason: `--allowed-tools ${rule}`, verdict: 'allow', confidence: 1, by: 'rule' }
  }
  return { ...found, verdict: 'ask', confidence: 1, by: 'policy' }
}

interface Judgement {
  risk: Risk
  reason: string
}

function judge(use: ToolUse, request: Request, context: PolicyContext): Judgement {
  const world: World = { ...context, cwd: request.cwd }
  switch (use.does) {
    case 'nothing':
      return low("the agent's own bookkeeping")
    case 'read':
    case 'write':
      return worst(use.paths.map(path => judgePath(path, use.does, world)))
    case 'search':
      return judgeSearch(use, world)
    case 'command':
      return { risk: commandRisk(use.command), reason: 'commands are asked about' }
    case 'web':
      return { risk: 'MEDIUM', reason: 'it goes to the network' }
    case 'unknown':
      return { risk: 'MEDIUM', reason: `${request.tool} is not a tool this policy knows` }
  }
}

function judgePath(path: string, does: 'read' | 'write', world: World): Judgement {
  const located = locate(path, world)
  if (located.where !== 'inside') return notInside(path, does, located)
  const sensitive = sensitivePart(located.relative, does)
  if (sensitive) return { risk: 'HIGH', reason: `${sensitive} may hold secrets or steer programs` }
  if (does === 'read') return low('reads inside the project')
  if (isTooWide(world.project, world.home)) return { risk: 'MEDIUM', reason: 'the project is a whole home directory' }
  return low('writes inside the project')
}

/** A search is as wide as its folder and the fixed beginning of its pattern. */
function judgeSearch(use: Extract<ToolUse, { does: 'search' }>, world: World): Judgement {
  const base = use.base ?? world.cwd
  const found = judgePath(base, 'read', world)
  if (found.risk !== 'LOW' || use.glob === undefined) return found
  if (use.glob.includes('..')) return { risk: 'MEDIUM', reason: 'the pattern climbs out of its folder' }
  if (use.reads && globLooksSensitive(use.glob))
    return { risk: 'HIGH', reason: 'the pattern asks for files with secrets' }
  const located = locate(base, world)
  if (located.where !== 'inside') return notInside(base, 'read', located)
  // Any absolute path inside braces ("{/etc/*,src/*}") stands after a comma or a brace.
  if (/[{,][/~]/.test(use.glob)) return { risk: 'MEDIUM', reason: 'the pattern holds an absolute path' }
  const fixed = use.glob.slice(0, use.glob.search(/[*?[{!]|$/))
  return fixed === '' ? found : judgePath(fixed, 'read', { ...world, cwd: `${world.project}/${located.relative}` })
}

function notInside(path: string, does: 'read' | 'write', located: Exclude<Located, { where: 'inside' }>): Judgement {
  const risk = does === 'write' ? 'HIGH' : 'MEDIUM'
  if (located.where === 'strange') return { risk, reason: `the path ${path} is strange: ${located.why}` }
  return { risk, reason: `${does}s outside the project: ${located.path}` }
}

function low(reason: string): Judgement {
  return { risk: 'LOW', reason }
}

function worst(found: Judgement[]): Judgement {
  const order: Risk[] = ['HIGH', 'MEDIUM', 'LOW']
  for (const risk of order) {
    const first = found.find(one => one.risk === risk)
    if (first) return first
  }
  return { risk: 'MEDIUM', reason: 'it names no path' }
}
