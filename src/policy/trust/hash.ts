import { createHash } from 'node:crypto'
import type { TrustedFile } from './files.ts'

/** The content hash of each file by its path. */
export function hashesOf(files: TrustedFile[]): Record<string, string> {
  return Object.fromEntries(files.map(file => [file.path, file.sha256]))
}

/** One hash over the sorted paths and contents. */
export function hashOver(files: TrustedFile[]): string {
  return sha256(files.map(file => `${file.path}\0${file.sha256}\n`).join(''))
}

/** The paths whose hash is not the same in both. */
export function differences(before: Record<string, string>, now: Record<string, string>): string[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(now)])
  return [...paths].filter(path => before[path] !== now[path]).sort()
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
