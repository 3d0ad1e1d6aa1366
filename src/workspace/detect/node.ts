import { PACKAGE_MANAGERS } from '../../domain/package-managers.ts'
import { commandsFromScripts, type Ecosystem, type FoundEcosystem, firstOfEach, usualCommand } from './ecosystem.ts'
import { type Folder, type Table, tableIn, textsIn } from './project-files.ts'

/** If there are several lock files, the manifest's `packageManager` decides, else this order. */
const MANAGERS = ['pnpm', 'yarn', 'bun', 'npm'] as const
type Manager = (typeof MANAGERS)[number]

/** The lock files and their managers. */
const LOCKS = MANAGERS.flatMap(manager => PACKAGE_MANAGERS[manager].locks.map(file => [file, manager] as const))

const TEST_RUNNERS: readonly [name: string, run: string][] = [
  ['vitest', 'vitest run'],
  ['jest', 'jest'],
  ['mocha', 'mocha'],
  ['ava', 'ava'],
]

/** JavaScript and TypeScript: npm, pnpm, yarn, bun. */
export const node: Ecosystem = async (folder, above) => {
  if (!folder.has('package.json')) return undefined
  const manifest = await folder.json('package.json')
  const { manager, from } = findManager(folder, manifest, above)
  const bodies = Object.entries(tableIn(manifest, 'scripts')).filter(([, body]) => typeof body === 'string')
  const scripts = new Map(bodies as [string, string][])
  const own = commandsFromScripts(scripts, {
    run: name => (name === 'test' && manager !== 'bun' ? `${manager} test` : `${manager} run ${name}`),
    from: name => `package.json: scripts.${name}`,
  })
  const yaml = manager === 'pnpm' ? await folder.yaml('pnpm-workspace.yaml') : undefined
  return {
    ecosystem: 'node',
    manager,
    manager_from: from,
    commands: firstOfEach([
      setupCommand(folder, manager, manifest),
      ...own,
      ...usualCommands(folder, manager, manifest),
    ]),
    members: [...readWorkspaces(manifest), ...textsIn(yaml?.['packages'])],
  }
}

function findManager(
  folder: Folder,
  manifest: Table | undefined,
  above: FoundEcosystem | undefined,
): { manager: Manager; from: string } {
  const locks = LOCKS.filter(([file]) => folder.has(file))
  const declared = readPackageManager(manifest)
  const lock = locks.find(([, manager]) => manager === declared) ?? locks[0]
  if (lock) return { manager: lock[1], from: lock[0] }
  if (declared) return { manager: declared, from: 'package.json: packageManager' }
  if (folder.has('pnpm-workspace.yaml')) return { manager: 'pnpm', from: 'pnpm-workspace.yaml' }
  if (folder.has('.yarnrc.yml')) return { manager: 'yarn', from: '.yarnrc.yml' }
  if (folder.has('bunfig.toml')) return { manager: 'bun', from: 'bunfig.toml' }
  if (above) return { manager: above.manager as Manager, from: `${above.manager_from} above` }
  return { manager: 'npm', from: 'package.json' }
}

function readPackageManager(manifest: Table | undefined): Manager | undefined {
  const field = manifest?.['packageManager'] ?? tableIn(manifest, 'devEngines', 'packageManager')['name']
  const name = typeof field === 'string' ? (field.split('@')[0] ?? '') : ''
  return MANAGERS.find(manager => manager === name)
}

function setupCommand(folder: Folder, manager: Manager, manifest: Table | undefined) {
  const lock = LOCKS.find(([file, owner]) => owner === manager && folder.has(file))?.[0]
  const from = lock ?? 'package.json'
  if (lock === undefined) return usualCommand('setup', `${manager} install`, from)
  if (manager === 'npm') return usualCommand('setup', 'npm ci', from)
  const field = manifest?.['packageManager']
  const isBerry = folder.has('.yarnrc.yml') || (typeof field === 'string' && /^yarn@([2-9]|\d\d)/.test(field))
  const flag = manager === 'yarn' && isBerry ? '--immutable' : '--frozen-lockfile'
  return usualCommand('setup', `${manager} install ${flag}`, from)
}

/** Usual commands of installed tools, for kinds without a script. Nothing is downloaded. */
function usualCommands(folder: Folder, manager: Manager, manifest: Table | undefined) {
  const dependencies = { ...tableIn(manifest, 'dependencies'), ...tableIn(manifest, 'devDependencies') }
  const has = (name: string) => Object.hasOwn(dependencies, name)
  const exec = { npm: 'npx --no-install', pnpm: 'pnpm exec', yarn: 'yarn run', bun: 'bun run' }[manager]
  const runner = TEST_RUNNERS.find(([name]) => has(name))
  const eslint = folder.matching(/^(eslint\.config\.[cm]?[jt]s|\.eslintrc(\.\w+)?)$/)[0]
  const biome = folder.first(['biome.json', 'biome.jsonc'])
  return [
    has('typescript') &&
      folder.has('tsconfig.json') &&
      usualCommand('typecheck', `${exec} tsc --noEmit`, 'tsconfig.json'),
    has('@biomejs/biome') && biome !== undefined && usualCommand('lint', `${exec} biome check .`, biome),
    has('eslint') && eslint !== undefined && usualCommand('lint', `${exec} eslint .`, eslint),
    runner && usualCommand('test', `${exec} ${runner[1]}`, `package.json: ${runner[0]}`),
  ]
}

function readWorkspaces(manifest: Table | undefined): string[] {
  const field = manifest?.['workspaces']
  return Array.isArray(field) ? textsIn(field) : textsIn(tableIn(manifest, 'workspaces')['packages'])
}
