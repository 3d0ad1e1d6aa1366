import type { Config } from '../../../domain/config/config.ts'
import type { DiffSettings } from './change/change.ts'

type DiffPart = Pick<Config['gates'], 'max_changed_lines' | 'forbidden_paths' | 'allow'>

/** What a person set for the diff rules. */
export function diffSettingsIn({ gates }: { gates: DiffPart }): DiffSettings {
  return { maxChangedLines: gates.max_changed_lines, forbiddenPaths: gates.forbidden_paths, allow: gates.allow }
}
