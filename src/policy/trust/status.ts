import type { TrustedFile } from './files.ts'

/**
 * A repository cannot loosen its own guard. What in a project runs code or widens rights is listed here with its content;
 * a person agrees to exactly that, and any change of it is asked again.
 */
export interface TrustStatus {
  /** Real path. */
  project: string
  state: 'nothing-to-trust' | 'trusted' | 'untrusted' | 'changed'
  files: TrustedFile[]
  /** With `changed`: the paths that differ from what was agreed to. */
  changed: string[]
  /** When it was agreed to. */
  since?: number
}
