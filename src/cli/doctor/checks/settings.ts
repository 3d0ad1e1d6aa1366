import { statSync } from 'node:fs'
import { findBubblewrap } from '../../../agents/sandbox/bubblewrap.ts'
import { AppError } from '../../../base/errors.ts'
import { isolationLevel } from '../../../base/process/isolation.ts'
import { loadConfig } from '../../../domain/config/load.ts'
import { SETTING_KEYS, settingOf } from '../../../domain/config/settings.ts'
import { setUpOf } from '../../../human/notify/set-up.ts'
import { type Check, type Finding, ok, type Patient, problem, warning } from '../finding.ts'

export const checkSettings: Check = async patient => [
  ...(await config(patient)),
  ...notifications(patient),
  isolation(patient),
  await sandbox(patient),
]

async function config({ places, env }: Patient): Promise<Finding[]> {
  try {
    const { values } = await loadConfig({ places, env })
    const mode = statSync(places.configFile, { throwIfNoEntry: false })?.mode
    if (mode === undefined) return [ok('config', 'no file of your own; the defaults hold')]
    const written = SETTING_KEYS.filter(key => settingOf(key).secret && values[key] !== undefined)
    const bare = written.filter(key => !String(values[key]).startsWith('env:'))
    if (bare.length > 0 && (mode & 0o077) !== 0) {
      const says = `${places.configFile} holds ${bare.join(', ')} and others can read it`
      return [warning('config', says, `Close it: chmod 600 ${places.configFile}`)]
    }
    return [ok('config', `${places.configFile} is valid`)]
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [problem('config', error.message, error.next)]
  }
}

function notifications({ config, env }: Patient): Finding[] {
  if (!config) return []
  const { channels, problems } = setUpOf(config.notifications, env)
  const broken = problems.map(({ channel, problem: what }) =>
    warning('notifications', `${channel}: ${what}`, 'Set it with: pcc config set, then try: pcc notify test'),
  )
  const working = channels.length > 0 ? channels.join(', ') : 'none is set up; pcc pending shows what waits'
  return [...broken, ok('notifications', working)]
}

/** What the promise "no process is left" rests on here. */
function isolation({ config }: Patient): Finding {
  const level = isolationLevel(config?.agents.isolation)
  if (level === 'namespace') return ok('isolation', 'agents run in a PID namespace: nothing they start can escape')
  const says =
    'agents are found by a marker: only a process that both loses its parent and drops all it inherited escapes'
  return ok('isolation', says)
}

/** What stands around an agent that is not held to every call. */
async function sandbox({ config, env }: Patient): Promise<Finding> {
  const mode = config?.agents.sandbox ?? 'auto'
  if (mode === 'off') return ok('sandbox', 'switched off: agents that are not held to every call run without one')
  const found = await findBubblewrap(env)
  if ('program' in found)
    return ok('sandbox', `bubblewrap ${found.version}: agents that are not held to every call run in it`)
  if (mode === 'required') return problem('sandbox', `required, and ${found.problem}`, found.install)
  return ok(
    'sandbox',
    `none, ${found.problem}: it is only for agents that are not held to every call. ${found.install}`,
  )
}
