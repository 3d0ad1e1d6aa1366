import { stamped } from '../files/stamp.ts'
import type { WantedFile } from '../files/step.ts'

/** Folders that a project begins with, though there is nothing in them yet. */
export const FOLDERS = ['.perpetualcc/features', '.perpetualcc/knowledge']

/** What says to a person who finds the folder what it is. */
export const FOLDER_README: WantedFile = {
  path: '.perpetualcc/README.md',
  content: stamped(
    `# .perpetualcc

This folder belongs to pcc, which has coding agents work on this project under supervision.

| here | what | git |
|---|---|---|
| \`features/\` | what is wanted: a specification and a plan for each feature | commit it |
| \`knowledge/\` | notes on this project that agents are shown: pitfalls, decisions | commit it |
| \`rules.toml\` | what is always asked about or refused here (\`pcc rules add --project\`) | commit it |
| everything else | an index and what work leaves behind; it can be deleted at any time | left out |

Settings of the project stand in \`.perpetualcc.toml\` beside this folder.

`,
    'markdown',
  ),
}
