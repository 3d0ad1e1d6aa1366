import type { Assessment } from '../../domain/assessment.ts'
import type { Request, Risk } from '../../domain/session.ts'
import type { PolicyRule } from './rules.ts'

/**
 * `--allowed-tools`: what the person who started the session wrote down as needing no question, in Claude Code's own form.
 * `Bash(npm test)` is that exact command; `Bash(npm run:*)` any that begins with those words and is nothing but plain words;
 * `WebFetch(domain:example.com)` that host; a bare name every call of that tool, unless it is HIGH risk. `Bash` alone is no
 * rule, because it would be all of them.
 *
 * Each entry that is about this request becomes a rule for exactly this request, so that it stands among the other rules
 * and a deny of theirs is final.
 */
export function rulesFromAllowedTools(
  allowed: readonly string[],
  { tool, input }: Pick<Request, 'tool' | 'input'>,
  { risk, normalised }: Assessment,
): PolicyRule[] {
  return allowed
    .filter(entry => matches(readRule(entry), { tool, input }, risk))
    .map(entry => ({
      effect: 'allow',
      tool,
      match: normalised.slice(tool.length + 1),
      shown: `--allowed-tools ${entry}`,
    }))
}

/** Rules that let nothing through, for the person to know. */
export function idleRules(rules: readonly string[]): string[] {
  return rules.filter(rule => {
    const { tool, what } = readRule(rule)
    if (tool === 'Bash') return what === undefined || what === '' || what === '*' || what === ':*'
    return what !== undefined && !(tool === 'WebFetch' && what.startsWith('domain:'))
  })
}

interface Rule {
  tool: string
  what: string | undefined
}

function readRule(rule: string): Rule {
  const parts = /^([^(]+)\((.*)\)$/s.exec(rule.trim())
  return { tool: (parts?.[1] ?? rule).trim(), what: parts?.[2]?.trim() }
}

function matches({ tool, what }: Rule, request: Pick<Request, 'tool' | 'input'>, risk: Risk): boolean {
  if (tool === 'Bash') return request.tool === 'Bash' && commandMatches(what, request.input['command'], risk)
  if (what === undefined) return risk !== 'HIGH' && (request.tool === tool || ofServer(tool, request.tool))
  if (tool !== 'WebFetch' || request.tool !== tool || !what.startsWith('domain:')) return false
  return risk !== 'HIGH' && hostOf(request.input['url']) === what.slice('domain:'.length).trim().toLowerCase()
}

function commandMatches(what: string | undefined, command: unknown, risk: Risk): boolean {
  if (!what || typeof command !== 'string') return false
  if (!what.endsWith(':*')) return command.trim() === what
  const words = what.slice(0, -2).trim()
  if (words === '' || risk === 'HIGH' || !PLAIN.test(command)) return false
  return command === words || command.startsWith(`${words} `)
}

/** Nothing in it that a shell would treat as more than a word: one command, no substitution, no redirection. */
const PLAIN = /^[\w@%+:,./= -]+$/

/** `mcp__server` stands for all tools of that server. */
function ofServer(rule: string, tool: string): boolean {
  return /^mcp__[^_]+(?:_[^_]+)*$/.test(rule) && tool.startsWith(`${rule}__`)
}

function hostOf(url: unknown): string | undefined {
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  return parsed?.hostname.toLowerCase()
}
