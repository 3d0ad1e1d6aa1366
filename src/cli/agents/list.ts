import type { Hold } from '../../domain/agents/manifest.ts'
import { boxTable } from '../render/list-table.ts'
import type { Terminal } from '../render/paint.ts'
import { firstLine } from '../render/text.ts'
import type { FoundAgent } from './survey.ts'

/** What an agent is held to, for a person. */
export const HELD: Record<Hold, string> = {
  'every-call': 'every call gated',
  writes: 'writes gated',
  observed: 'observed only',
}

const SPOKEN = { sdk: "the vendor's library", acp: 'ACP', 'app-server': 'its app-server' } as const
const PROGRAM = 1

/** The table of `pcc agents list`. */
export function agentTable(agents: FoundAgent[], terminal: Terminal): string[] {
  const rows = agents.map(found => [
    { text: `${firstLine(found.agent.name)}${found.isUsual ? ' *' : ''}` },
    found.program === undefined
      ? { text: 'not found', tone: 'dim' as const }
      : { text: firstLine(found.program), ...(found.problem !== undefined && { tone: 'red' as const }) },
    { text: versionWords(found) },
    { text: SPOKEN[found.manifest.speaks] },
    {
      text: `${HELD[found.manifest.hold]}${found.sandboxed ? ', in a sandbox' : ''}${found.unattended ? '' : ', not alone'}`,
      ...(found.unattended ? {} : { tone: 'yellow' as const }),
    },
  ])
  return [
    ...boxTable({
      headings: ['Agent', 'Found', 'Version', 'Spoken to by', 'Held'],
      rows,
      terminal,
      giveWay: [[PROGRAM, 16]],
    }),
    '* is used where nothing else is said (agent.command). How to get the others: pcc agents doctor',
  ]
}

/** The version that is there, beside those with which everything was seen to hold. */
function versionWords({ version, manifest: { verified } }: FoundAgent): string {
  if (version === undefined) return verified.length === 0 ? '–' : `(seen ${verified.join(', ')})`
  return verified.includes(version) ? version : `${version} (seen ${verified.join(', ')})`
}

/** As `--json` prints it. */
export function agentJson(found: FoundAgent) {
  const { agent, manifest, program, version, problem, isUsual, unattended, sandboxed } = found
  return {
    name: agent.name,
    kind: agent.kind,
    usual: isUsual,
    program: program ?? null,
    version: version ?? null,
    seen_with: manifest.verified,
    problem: problem ?? null,
    spoken_to_by: manifest.speaks,
    hold: manifest.hold,
    held_by: manifest.heldBy,
    unattended,
    sandboxed,
    resumes: manifest.resume !== 'none',
    read_only: manifest.readOnly,
    limits: manifest.limits,
    falls_short: manifest.departs,
    quirks: manifest.quirks,
    install: manifest.start.install,
  }
}
