import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SETTING_KEYS, type SettingKey } from '../src/domain/config/settings.ts'
import { ROOT } from './places.ts'

/** The table of settings and what reads its files: a name in there is no use of the setting. */
const TABLE = /^src\/domain\/config\//
const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm

/**
 * The settings whose last word no code outside the table contains. A common word such as `mode` always counts as read:
 * that such a setting is really used is shown by the test that flips it (`test/domain/config/in-force.ts`).
 */
export function findUnreadSettings(root: string = ROOT): SettingKey[] {
  const code = globSync('src/**/*.{ts,tsx}', { cwd: root })
    .filter(path => !TABLE.test(path))
    .map(path => readFileSync(join(root, path), 'utf8').replace(COMMENT, ''))
    .join('\n')
  const words = new Set(code.match(/\w+/g))
  return SETTING_KEYS.filter(key => !words.has(key.slice(key.lastIndexOf('.') + 1)))
}

/** The content of src/domain/config/unread-settings.ts. */
export function unreadSettingsFile(): string {
  return `/** Settings that are stored and that no code reads yet. \`npm run docs\` writes this file; a test compares the two. */
// biome-ignore format: it is generated
export const UNREAD_SETTINGS: readonly string[] = [
${findUnreadSettings()
  .map(key => `  '${key}',\n`)
  .join('')}]
`
}

if (import.meta.main) writeFileSync(join(ROOT, 'src/domain/config/unread-settings.ts'), unreadSettingsFile())
