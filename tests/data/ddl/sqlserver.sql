USE [shop]
GO
/****** Object:  Table [dbo].[customers]    Script Date: 11/24/2026 ******/
SET ANSI_NULLS ON
GO
SET QUOTED_IDENTIFIER ON
GO
CREATE TABLE [dbo].[customers](
	[id] [int] IDENTITY(1,1) NOT NULL,
	[name] [nvarchar](100) COLLATE SQL_Latin1_General_CP1_CI_AS NOT NULL,
	[price] [decimal](12, 2) NULL,
	[money] [money] NULL,
	[guid] [uniqueidentifier] ROWGUIDCOL NOT NULL,
	[bit] [bit] NOT NULL,
	[created] [datetime2](7) NOT NULL,
	[off] [datetimeoffset](3) NULL,
	[t] [time](7) NULL,
	[doc] [nvarchar](max) NULL,
	[bin] [varbinary](max) NULL,
	[xml] [xml] NULL,
	[rv] [timestamp] NOT NULL,
	[total]  AS ([price]*(2)) PERSISTED,
 CONSTRAINT [PK_customers] PRIMARY KEY CLUSTERED 
(
	[id] ASC
)WITH (PAD_INDEX = OFF, STATISTICS_NORECOMPUTE = OFF, IGNORE_DUP_KEY = OFF, ALLOW_ROW_LOCKS = ON, ALLOW_PAGE_LOCKS = ON, OPTIMIZE_FOR_SEQUENTIAL_KEY = OFF) ON [PRIMARY]
) ON [PRIMARY] TEXTIMAGE_ON [PRIMARY]
GO
SET ANSI_PADDING ON
GO
CREATE UNIQUE NONCLUSTERED INDEX [u_name] ON [dbo].[customers]
(
	[name] ASC
)WITH (PAD_INDEX = OFF, SORT_IN_TEMPDB = OFF, DROP_EXISTING = OFF, ONLINE = OFF) ON [PRIMARY]
GO
ALTER TABLE [dbo].[customers] ADD  CONSTRAINT [DF_bit]  DEFAULT ((1)) FOR [bit]
GO
ALTER TABLE [dbo].[customers]  WITH CHECK ADD  CONSTRAINT [FK_x] FOREIGN KEY([id])
REFERENCES [dbo].[other] ([id])
GO
ALTER TABLE [dbo].[customers] CHECK CONSTRAINT [FK_x]
GO
EXEC sys.sp_addextendedproperty @name=N'MS_Description', @value=N'x' , @level0type=N'SCHEMA',@level0name=N'dbo'
GO
