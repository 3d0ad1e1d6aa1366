/** What `pcc init` takes. */
export interface InitOptions {
  requirements?: string
  skipIndex?: true
  dryRun?: true
  force?: true
}
