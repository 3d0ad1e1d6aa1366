import type { Assessment, Reason } from '../../domain/assessment.ts'
import { assessmentOf } from '../classify/assessment-of.ts'
import type { Surroundings } from '../classify/command.ts'
import { expandBraces } from '../classify/words/braces.ts'
import { judgePath } from '../paths/judge-path.ts'
import { placeOf } from '../paths/place.ts'
import { globFindsSecret } from '../paths/secret-files.ts'
import { judgeAddress } from './address.ts'
import type { ToolUse } from './tool-use.ts'

interface Named {
  tool: string
  /** Servers that we started ourselves: their tools are ours by that, never by their name. */
  ownServers: readonly string[]
}

/** What a tool call is that is no command. */
export function assessTool(use: Exclude<ToolUse, { does: 'command' }>, named: Named, around: Surroundings): Assessment {
  const { reason, about } = judge(use, named, around)
  const text = about === undefined ? named.tool : `${named.tool} ${about}`
  return assessmentOf({ text, risk: 'LOW', reasons: [reason], pieces: [] }, text)
}

function judge(
  use: Exclude<ToolUse, { does: 'command' }>,
  named: Named,
  around: Surroundings,
): { reason: Reason; about?: string } {
  switch (use.does) {
    case 'nothing':
      return { reason: { code: 'tool.own', risk: 'LOW', text: "the agent's own bookkeeping" } }
    case 'read':
    case 'write':
      return { reason: judgePath(use.path, use.does, around), about: shown(use.path, around) }
    case 'search':
      return {
        reason: judgeSearch(use, around),
        about: [use.base && shown(use.base, around), use.glob].filter(Boolean).join(' '),
      }
    case 'fetch':
      return { reason: judgeAddress(use.url), about: use.url }
    case 'look-up':
      return { reason: { code: 'net.search', risk: 'MEDIUM', text: 'it asks a search engine' } }
    case 'server':
      return { reason: judgeServer(use, named) }
    case 'unknown':
      return {
        reason: { code: 'tool.unknown', risk: soundsDestructive(named.tool) ? 'HIGH' : 'MEDIUM', text: use.why },
      }
  }
}

/** A search reads as wide as its folder and the fixed beginning of its pattern. */
function judgeSearch({ base, glob, reads }: Extract<ToolUse, { does: 'search' }>, around: Surroundings): Reason {
  const folder = judgePath(base ?? around.cwd, 'read', around)
  if (folder.risk !== 'LOW' || glob === undefined) return folder
  // Braces are alternatives to the searcher: `{.env,*.ts}` is both.
  const globs = expandBraces(glob) ?? [glob]
  if (reads && globs.some(one => globFindsSecret(one) || judgePath(one, 'read', around).code === 'path.secret'))
    return { code: 'path.secret', risk: 'HIGH', text: `${glob} finds files with secrets` }
  const fixed = glob.replace(/[^/]*[*?[{!].*$/s, '')
  return fixed === '' ? folder : judgePath(fixed, 'read', around)
}

/** Words in the name of a foreign tool that tell what it does. */
const DESTRUCTIVE =
  /(^|[_\-.:]|[a-z](?=[A-Z]))(delete|remove|drop|destroy|purge|wipe|truncate|kill|terminate|revoke|reset|force|format|uninstall|erase|shutdown|merge|publish|deploy|transfer|pay|refund|send|exec|execute|eval|run_command|shell)/i

function soundsDestructive(name: string): boolean {
  return DESTRUCTIVE.test(name)
}

function judgeServer({ server, tool }: Extract<ToolUse, { does: 'server' }>, { ownServers }: Named): Reason {
  if (ownServers.includes(server)) return { code: 'tool.own', risk: 'LOW', text: `${server} is a server we started` }
  if (soundsDestructive(tool))
    return { code: 'tool.server', risk: 'HIGH', text: `${tool} of ${server} sounds like destruction` }
  return { code: 'tool.server', risk: 'MEDIUM', text: `${tool} belongs to the server ${server}` }
}

/** One spelling for one file, so that a remembered answer is found again. */
function shown(path: string, { cwd, fence }: Surroundings): string {
  const place = placeOf(path, cwd, fence)
  if (place.where === 'strange') return path
  return place.where === 'inside' ? `./${place.relative}` : place.path
}
