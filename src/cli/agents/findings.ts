import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Vendor, vendorOf } from '../../domain/agents/vendors.ts'
import { type Finding, ok, problem, warning } from '../doctor/finding.ts'
import { HELD } from './list.ts'
import type { FoundAgent } from './survey.ts'

type Env = Record<string, string | undefined>

/** What `pcc agents doctor` says of one agent: only of the one that is used is it a problem that something is missing. */
export function agentFindings(found: FoundAgent, env: Env): Finding[] {
  const { agent, manifest, program, isUsual, version } = found
  const bad = isUsual ? problem : warning
  const area = agent.name
  if (program === undefined) return [bad(area, 'not found on your PATH', getIt(found))]
  if (found.problem !== undefined) return [bad(area, `${program}: ${found.problem}`, getIt(found))]
  return [
    ok(area, `${version ?? 'of an unknown version'} at ${program}`),
    ...versionFindings(found),
    ...loginFindings(found, env),
    found.unattended
      ? ok(area, `${HELD[manifest.hold]}${found.sandboxed ? ', in a sandbox' : ''}: it may work alone`)
      : warning(
          area,
          `${HELD[manifest.hold]}: it does not work alone (${manifest.heldBy})`,
          `Let it, if you want: pcc config set agents.unattended ${agent.name}`,
        ),
  ]
}

function getIt({ agent, manifest }: FoundAgent): string {
  if (agent.kind === 'custom') return `Correct its command in [agents.custom.${agent.name}], or install it.`
  const { install } = manifest.start
  return agent.kind === 'claude' ? 'Install pcc again: npm i -g perpetualcc' : `Get it with: ${install}`
}

function versionFindings({ agent, manifest, version }: FoundAgent): Finding[] {
  if (version === undefined || manifest.verified.includes(version)) return []
  const seen = manifest.verified.join(', ')
  const says = `seen to hold with ${seen}, and this is ${version}`
  return [warning(agent.name, says, `Watch it the first time, or install ${seen}.`)]
}

/** Only whether there is something to log in with; nothing of it is read. `pcc doctor` asks Claude Code itself. */
function loginFindings({ agent }: FoundAgent, env: Env): Finding[] {
  const vendor = vendorOf(agent.kind)
  if (vendor.login.folder === '') return []
  const variable = vendor.credentials.find(([name]) => env[name])
  if (variable) return [ok(agent.name, `logs in with ${variable[0]}`)]
  const folder = loginFolder(vendor, env)
  if (folder !== undefined && existsSync(join(folder, vendor.login.file)))
    return [ok(agent.name, `logs in with what it keeps in ${folder}`)]
  const names = vendor.credentials.map(([name]) => name).join(' or ')
  return [
    warning(agent.name, 'nothing is seen that it could log in with', `Set ${names}, or log in with the agent itself.`),
  ]
}

function loginFolder({ login }: Vendor, env: Env): string | undefined {
  const moved = env[login.variable]
  if (moved) return join(moved, login.below ?? '')
  const home = env['HOME']
  return home === undefined ? undefined : join(home, login.folder)
}
