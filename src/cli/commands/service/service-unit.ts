import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { AppPaths } from '../../../base/app-paths.ts'
import { checksum } from '../../../base/ids.ts'

export type ServiceScope = 'user' | 'system'

/** Where the service of an installation is described, and what it is called there. */
export interface ServiceUnit {
  manager: 'systemd' | 'launchd'
  scope: ServiceScope
  /** The name of the unit, or the label of the launchd agent. */
  unit: string
  alert: string
  file: string
  alertFile: string
}

type Env = Record<string, string | undefined>

/** The place for this installation; a home or data directory that is not the standard one has a service of its own. */
export function locateUnit(
  { home, data }: Pick<AppPaths, 'home' | 'data'>,
  { env, scope, platform = process.platform }: { env: Env; scope: ServiceScope; platform?: string },
): ServiceUnit {
  const isStandard = home === join(env['HOME'] ?? '', '.perpetualcc') && data === join(home, 'data')
  const name = isStandard ? 'perpetualcc' : `perpetualcc-${checksum(`${home}\n${data}`)}`
  if (platform === 'darwin') {
    const folder = scope === 'user' ? join(env['HOME'] ?? '/', 'Library/LaunchAgents') : '/Library/LaunchDaemons'
    const file = join(folder, `${name}.plist`)
    return { manager: 'launchd', scope, unit: name, alert: '', file, alertFile: '' }
  }
  // A system has one folder for the services of all people. Through sudo the service belongs to the person, who asks for it without sudo.
  const own = scope === 'user' ? name : `${name}-${env['SUDO_USER'] ?? userInfo().username}`
  const folder = scope === 'user' ? join(configFolder(env), 'systemd/user') : '/etc/systemd/system'
  const [unit, alert] = [`${own}.service`, `${own}-alert.service`]
  return { manager: 'systemd', scope, unit, alert, file: join(folder, unit), alertFile: join(folder, alert) }
}

function configFolder(env: Env): string {
  const config = env['XDG_CONFIG_HOME']
  return config && isAbsolute(config) ? config : join(env['HOME'] ?? '/', '.config')
}

/** The service that is installed for this installation; undefined if there is none. */
export function findService(
  paths: Pick<AppPaths, 'home' | 'data'>,
  { scope: wanted, ...options }: { env: Env; platform?: string; scope?: ServiceScope | undefined },
): ServiceUnit | undefined {
  const scopes: ServiceScope[] = wanted === undefined ? ['user', 'system'] : [wanted]
  return scopes.map(scope => locateUnit(paths, { ...options, scope })).find(({ file }) => existsSync(file))
}
